package postgres

import _ "embed"

// The statements. Parameters are always bound, never put into the text.
var (
	//go:embed sql/beat.sql
	sqlBeat string
	//go:embed sql/claim.sql
	sqlClaim string
	//go:embed sql/clamp.sql
	sqlClamp string
	//go:embed sql/drain_current.sql
	sqlDrainCurrent string
	//go:embed sql/drain_report.sql
	sqlDrainReport string
	//go:embed sql/drain_request.sql
	sqlDrainRequest string
	//go:embed sql/drains.sql
	sqlDrains string
	//go:embed sql/lease_acquire.sql
	sqlLeaseAcquire string
	//go:embed sql/lease_release.sql
	sqlLeaseRelease string
	//go:embed sql/leave.sql
	sqlLeave string
	//go:embed sql/observe.sql
	sqlObserve string
	//go:embed sql/statuses.sql
	sqlStatuses string
	//go:embed sql/sweep.sql
	sqlSweep string
	//go:embed sql/sweep_drains.sql
	sqlSweepDrains string
	//go:embed sql/sweep_leases.sql
	sqlSweepLeases string
	//go:embed sql/view_write.sql
	sqlViewWrite string
)
