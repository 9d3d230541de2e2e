package postgres

import _ "embed"

// The statements. Parameters are always bound, never put into the text.
var (
	//go:embed sql/clear.sql
	sqlClear string
	//go:embed sql/divided.sql
	sqlDivided string
	//go:embed sql/grant.sql
	sqlGrant string
	//go:embed sql/grants.sql
	sqlGrants string
	//go:embed sql/last.sql
	sqlLast string
	//go:embed sql/leave_grants.sql
	sqlLeaveGrants string
	//go:embed sql/leave_reports.sql
	sqlLeaveReports string
	//go:embed sql/lock.sql
	sqlLock string
	//go:embed sql/now.sql
	sqlNow string
	//go:embed sql/report.sql
	sqlReport string
	//go:embed sql/shares.sql
	sqlShares string
	//go:embed sql/state.sql
	sqlState string
	//go:embed sql/sweep.sql
	sqlSweep string
)
