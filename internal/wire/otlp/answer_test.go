package otlp_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/otlp"
)

func TestFullSuccessHasNoPartialSuccess(t *testing.T) {
	t.Parallel()
	for _, s := range signal.All() {
		require.Empty(t, otlp.Success(otlp.Protobuf, s, wire.Result{Accepted: 3}))
		require.Equal(t, "{}", string(otlp.Success(otlp.JSON, s, wire.Result{Accepted: 3})))
	}
}

// TestPartialSuccess reads the answers as a client does.
func TestPartialSuccess(t *testing.T) {
	t.Parallel()
	res := wire.Result{Accepted: 2}
	for i := range 7 {
		res.Reject(i+1, errors.New(`bad "x"`))
	}
	logs, traces, metrics := plogotlp.NewExportResponse(), ptraceotlp.NewExportResponse(), pmetricotlp.NewExportResponse()
	for _, c := range []struct {
		signal   signal.Signal
		response interface {
			UnmarshalProto([]byte) error
			UnmarshalJSON([]byte) error
		}
		partial func() (int64, string)
		text    string
	}{
		{signal.Logs, logs, func() (int64, string) {
			return logs.PartialSuccess().RejectedLogRecords(), logs.PartialSuccess().ErrorMessage()
		}, `7 of 9 log records refused: log record 1: bad "x"; log record 2:`},
		{signal.Traces, traces, func() (int64, string) {
			return traces.PartialSuccess().RejectedSpans(), traces.PartialSuccess().ErrorMessage()
		}, `7 of 9 spans refused: span 1: bad "x"; span 2:`},
		{signal.Metrics, metrics, func() (int64, string) {
			return metrics.PartialSuccess().RejectedDataPoints(), metrics.PartialSuccess().ErrorMessage()
		}, `7 of 9 data points refused: data point 1: bad "x"; data point 2:`},
	} {
		require.NoError(t, c.response.UnmarshalProto(otlp.Success(otlp.Protobuf, c.signal, res)))
		rejected, message := c.partial()
		require.EqualValues(t, 7, rejected)
		require.Contains(t, message, c.text)
		require.Contains(t, message, "; and 2 more")
		require.NoError(t, c.response.UnmarshalJSON(otlp.Success(otlp.JSON, c.signal, res)))
		again, messageAgain := c.partial()
		require.Equal(t, rejected, again)
		require.Equal(t, message, messageAgain)
	}
}

func TestFailureIsAStatus(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err     error
		json    string
		retry   time.Duration
		message string
	}{
		"invalid":  {fault.New(fault.Invalid, "bad <body>"), `{"code":3,"message":"bad <body>"}`, 0, "bad <body>"},
		"internal": {errors.New("secret"), `{"code":13,"message":"internal error; the log has the details under this request id"}`, 0, ""},
		"limited": {
			fault.New(fault.Limited, "over rate").After(1500 * time.Millisecond),
			`{"code":8,"message":"over rate","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.500s"}]}`,
			1500 * time.Millisecond, "over rate",
		},
		"disk full": {
			fault.New(fault.Unavailable, "disk full"),
			`{"code":14,"message":"disk full","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1s"}]}`,
			time.Second, "disk full",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.json, string(otlp.Failure(otlp.JSON, c.err)))
			var fromJSON, fromProto spb.Status
			require.NoError(t, protojson.Unmarshal(otlp.Failure(otlp.JSON, c.err), &fromJSON))
			require.NoError(t, proto.Unmarshal(otlp.Failure(otlp.Protobuf, c.err), &fromProto))
			require.True(t, proto.Equal(&fromJSON, &fromProto))
			if c.retry == 0 {
				require.Empty(t, fromProto.GetDetails())
				return
			}
			var info errdetails.RetryInfo
			require.NoError(t, fromProto.GetDetails()[0].UnmarshalTo(&info))
			require.Equal(t, c.retry, info.GetRetryDelay().AsDuration())
		})
	}
}

func TestParseContentType(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]otlp.Encoding{
		"application/x-protobuf": otlp.Protobuf, "application/json": otlp.JSON, "Application/JSON; charset=utf-8": otlp.JSON,
	} {
		got, err := otlp.ParseContentType(header)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, header := range []string{"", "text/plain", "application/json;;", "x"} {
		_, err := otlp.ParseContentType(header)
		require.True(t, fault.Is(err, fault.Unsupported), header)
	}
}
