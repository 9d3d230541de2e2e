package cluster_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/millstream/millstream/internal/testkit/mscluster"
	"github.com/millstream/millstream/internal/testkit/mstest"
)

// TestIntakeIsAFrontend sends OTLP over gRPC to an intake node, past the router: the row limit holds there too, and the refusal is one that
// clients repeat.
func TestIntakeIsAFrontend(t *testing.T) {
	t.Parallel()
	c := mscluster.Start(t, lazily(mscluster.Layout{Routers: 1, Intakes: 1, Queriers: 1}))
	c.Routers[0].Client("t1").Query(t, "ALTER DATABASE public SET 'ingest_rows_rate_limit' = '1'")
	conn, err := grpc.NewClient(c.Intakes[0].OTLPGRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	logs := plog.NewLogs()
	records := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for range 1000 {
		records.AppendEmpty().Body().SetStr("x")
	}
	request := plogotlp.NewExportRequestFromLogs(logs)
	send := func(ctx context.Context, org string) error {
		ctx = metadata.AppendToOutgoingContext(ctx, "x-scope-orgid", org)
		_, err := plogotlp.NewGRPCClient(conn).Export(ctx, request)
		return err
	}
	// The node sees the limit within a second; the request that then finds one token leaves a debt of a quarter of an hour.
	var refusal error
	require.NoError(t, mstest.WaitFor(t.Context(), func(ctx context.Context) error {
		if refusal = send(ctx, "t1"); refusal == nil {
			return errors.New("not refused yet")
		}
		return nil
	}))
	s := status.Convert(refusal)
	require.Equal(t, codes.ResourceExhausted, s.Code(), "%v", refusal)
	require.Contains(t, s.Message(), `database "public": 1000 rows refused`)
	require.Len(t, s.Details(), 1)
	require.Positive(t, s.Details()[0].(*errdetails.RetryInfo).GetRetryDelay().AsDuration())
	require.NoError(t, send(t.Context(), "t2"), "the limit is of one org's database")
}
