package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/millstream/millstream/internal/testkit/mscluster"
	"github.com/millstream/millstream/internal/testkit/mstest"
)

// tokens is a cluster in token mode.
type tokens struct {
	t *testing.T
	c *mscluster.Cluster
}

// make makes a token at a router.
func (k *tokens) make(at *mscluster.Node, spec string) (token, prefix string) {
	k.t.Helper()
	res := k.http(at, k.c.Admin, http.MethodPost, "/api/v1/tokens", spec)
	require.Equal(k.t, http.StatusCreated, res.Status, "%s", res.Body)
	var made struct{ Token string }
	require.NoError(k.t, json.Unmarshal(res.Body, &made))
	return made.Token, strings.Split(made.Token, "_")[1]
}

func (k *tokens) http(at *mscluster.Node, token, method, path, body string) mstest.Response {
	k.t.Helper()
	pairs := []string{"Content-Type", "application/json"}
	if token != "" {
		pairs = append(pairs, "Authorization", "Bearer "+token)
	}
	res, err := at.Client("").Do(k.t.Context(), method, path, []byte(body), pairs...)
	require.NoError(k.t, err)
	return res
}

// write writes a row over HTTP and returns the status.
func (k *tokens) write(at *mscluster.Node, token string) int {
	k.t.Helper()
	return k.http(at, token, http.MethodPost, "/api/v1/intake/logs/app", `{"message":"x"}`).Status
}

// read asks for the rows and returns the status.
func (k *tokens) read(at *mscluster.Node, token string) int {
	k.t.Helper()
	return k.http(at, token, http.MethodPost, "/api/v1/query", `{"statement":"SHOW STREAMS"}`).Status
}

// export writes a record over OTLP/gRPC and returns the code.
func (k *tokens) export(at *mscluster.Node, token string) codes.Code {
	k.t.Helper()
	conn, err := grpc.NewClient(at.OTLPGRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(k.t, err)
	defer func() { require.NoError(k.t, conn.Close()) }()
	logs := plog.NewLogs()
	logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr("x")
	ctx := k.t.Context()
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	_, err = plogotlp.NewGRPCClient(conn).Export(ctx, plogotlp.NewExportRequestFromLogs(logs))
	return status.Code(err)
}

// soon waits until a status is the one wanted, and logs how long that took.
func soon[T comparable](t *testing.T, what string, want T, get func() T) {
	t.Helper()
	began := time.Now()
	require.NoError(t, mstest.WaitFor(t.Context(), func(context.Context) error {
		if got := get(); got != want {
			return fmt.Errorf("%s: %v, not yet %v", what, got, want)
		}
		return nil
	}))
	t.Logf("%s: %v after %v", what, want, time.Since(began).Round(time.Millisecond))
}

// TestTokensOverProcesses makes and revokes tokens at one process and uses them at others, over HTTP and OTLP/gRPC.
func TestTokensOverProcesses(t *testing.T) {
	t.Parallel()
	c := mscluster.Start(t, mscluster.Layout{Routers: 2, Intakes: 1, Queriers: 1, Env: map[string]string{
		"MS_AUTH_MODE": "token", "MS_CIPHER_KEY": "the cipher key of this cluster", "MS_INTAKE_FLUSH_INTERVAL_SECS": "3600",
	}})
	k := &tokens{t, c}
	one, two, intake := c.Routers[0], c.Routers[1], c.Intakes[0]
	all := map[string]*mscluster.Node{"router 1": one, "router 2": two, "intake": intake}

	token, prefix := k.make(one, `{"orgs":["acme"],"rights":["read","write"]}`)
	require.Equal(t, http.StatusOK, k.write(one, token), "where it was made it is known at once")
	soon(t, "a new token at the other router", http.StatusOK, func() int { return k.write(two, token) })
	soon(t, "a new token at the intake, over gRPC", codes.OK, func() codes.Code { return k.export(intake, token) })
	require.Equal(t, codes.OK, k.export(two, token))
	require.Equal(t, http.StatusOK, k.read(two, token))

	reader, _ := k.make(two, `{"orgs":["acme"],"rights":["read"]}`)
	expiring, _ := k.make(two, `{"orgs":["acme"],"rights":["read","write"],"expires":"3s"}`)
	for name, n := range all {
		soon(t, "a token for reading at "+name, codes.PermissionDenied, func() codes.Code { return k.export(n, reader) })
		require.Equal(t, codes.Unauthenticated, k.export(n, ""), name)
		require.Equal(t, codes.Unauthenticated, k.export(n, token+"x"), name)
		require.Equal(t, codes.Unauthenticated, k.export(n, "ms_"+prefix+"_"+strings.Repeat("a", 40)), name)
		soon(t, "an expired token at "+name, codes.Unauthenticated, func() codes.Code { return k.export(n, expiring) })
	}
	for _, n := range c.Routers {
		require.Equal(t, http.StatusForbidden, k.write(n, reader), n.ID)
		require.Equal(t, http.StatusOK, k.read(n, reader), n.ID)
		for _, bad := range []string{"", token + "x", "ms_" + prefix + "_" + strings.Repeat("a", 40), expiring, "x"} {
			require.Equal(t, http.StatusUnauthorized, k.write(n, bad), n.ID)
			require.Equal(t, http.StatusUnauthorized, k.read(n, bad), n.ID)
		}
		require.Equal(t, http.StatusForbidden, k.http(n, token, http.MethodGet, "/api/v1/tokens", "").Status)
	}

	require.Equal(t, http.StatusOK, k.http(two, c.Admin, http.MethodDelete, "/api/v1/tokens/"+prefix, "").Status)
	require.Equal(t, http.StatusUnauthorized, k.write(two, token), "where it was revoked it ends at once")
	soon(t, "a revoked token at the other router", http.StatusUnauthorized, func() int { return k.write(one, token) })
	soon(t, "a revoked token at the intake, over gRPC", codes.Unauthenticated, func() codes.Code { return k.export(intake, token) })
	require.Equal(t, codes.Unauthenticated, k.export(one, token))
	require.Equal(t, http.StatusUnauthorized, k.read(one, token))

	audit := string(k.http(one, c.Admin, http.MethodGet, "/api/v1/audit", "").Body)
	require.Contains(t, audit, `"action":"token.revoke","object":"`+prefix+`"`)
	require.Equal(t, 3, strings.Count(audit, `"action":"token.create"`), audit)
}
