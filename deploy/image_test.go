package deploy_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// uid is the user of the image.
const uid = 10001

func TestImage(t *testing.T) {
	t.Parallel()
	text := read(t, "Dockerfile")
	bases := instructions(text, "FROM")
	require.Len(t, bases, 2, "what builds does not go into the image")

	goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "..", "go.mod"))[1]
	require.Regexp(t, `^golang:`+regexp.QuoteMeta(goVersion)+`-\w+ AS build$`, bases[0], "the Go of go.mod")
	release := regexp.MustCompile(`-(\w+) AS`).FindStringSubmatch(bases[0])[1]
	require.Equal(t, "debian:"+release+"-slim", bases[1], "the C library that the program was linked against")
	require.Contains(t, text, "CGO_ENABLED=1")

	require.Equal(t, []string{strconv.Itoa(uid) + ":" + strconv.Itoa(uid)}, instructions(text, "USER"))
	require.Contains(t, text, "--uid "+strconv.Itoa(uid)+" ")
	require.Equal(t, []string{`["/usr/local/bin/millstream"]`}, instructions(text, "ENTRYPOINT"))

	c := load(t, map[string]string{
		"MS_NODE_ROLES": "intake,router", "MS_META_DATABASE_DSN": "postgres://host/db", "MS_CLUSTER_TOKEN": "x", "MS_AUTH_MODE": "header",
		"MS_OBJECT_STORE_BACKEND": "s3", "MS_OBJECT_STORE_BUCKET": "b", "MS_CLUSTER_ADVERTISE_ADDR": "host:5082",
		"MS_HTTP_BIND": "0.0.0.0", "MS_GRPC_BIND": "0.0.0.0", "MS_OTLP_HTTP_BIND": "0.0.0.0", "MS_OTLP_GRPC_BIND": "0.0.0.0",
	}, nodeMemory)
	var exposed []int
	for p := range strings.FieldsSeq(instructions(text, "EXPOSE")[0]) {
		n, err := strconv.Atoi(p)
		require.NoError(t, err)
		exposed = append(exposed, n)
	}
	slices.Sort(exposed)
	require.Equal(t, reachable(c), exposed)

	// What the build copies is what the ignore file lets through.
	ignored := read(t, "Dockerfile.dockerignore")
	for _, copied := range instructions(text, "COPY") {
		words := strings.Fields(copied)
		for _, source := range words[:len(words)-1] {
			if !strings.HasPrefix(words[0], "--from") {
				require.Contains(t, ignored, "\n!"+source+"\n")
			}
		}
	}
}

// instructions returns what follows each instruction of a name.
func instructions(dockerfile, name string) (out []string) {
	for _, m := range regexp.MustCompile(`(?m)^`+name+` (.+)$`).FindAllStringSubmatch(dockerfile, -1) {
		out = append(out, m[1])
	}
	return out
}
