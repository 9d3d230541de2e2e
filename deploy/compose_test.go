package deploy_test

import (
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/config"
)

// composeFile is what the tests look at in compose.yaml.
type composeFile struct {
	Services map[string]service
	Volumes  map[string]any
}

type service struct {
	Image, Hostname string
	Entrypoint      []string
	Environment     map[string]string
	Volumes         []string
	Ports           []string
	StopGracePeriod time.Duration `yaml:"stop_grace_period"`
	DependsOn       any           `yaml:"depends_on"`
	Healthcheck     struct{ Test []string }
	Deploy          struct{ Replicas int }
}

const nodeImage = "millstream:latest"

// composed returns the Compose file with the values of .env.example in it, and its nodes by name.
func composed(t *testing.T) (file composeFile, nodes map[string]*config.Config) {
	t.Helper()
	values := make(map[string]string)
	for line := range strings.Lines(read(t, "compose", ".env.example")) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(name, "#") {
			values[name] = value
		}
	}
	used := make(map[string]bool)
	reference := regexp.MustCompile(`\$\$|\$\{(\w+)(?::[-?][^}]*)?\}`)
	text := reference.ReplaceAllStringFunc(read(t, "compose", "compose.yaml"), func(m string) string {
		if m == "$$" {
			return "$"
		}
		name := regexp.MustCompile(`\w+`).FindString(m)
		require.Contains(t, values, name, ".env.example")
		used[name] = true
		return values[name]
	})
	require.Len(t, used, len(values), "everything in .env.example is used")
	file = decode[composeFile](t, text)[0]
	nodes = make(map[string]*config.Config)
	for name, s := range file.Services {
		if s.Image == nodeImage {
			nodes[name] = load(t, merge(s.Environment, assignments(t, s)), nodeMemory)
		}
	}
	return file, nodes
}

// assignments returns the variables that a node's entry point sets.
func assignments(t *testing.T, s service) map[string]string {
	t.Helper()
	require.Len(t, s.Entrypoint, 3)
	m := regexp.MustCompile(`^(\w+)="\$\(hostname\)(:\d+)" exec millstream$`).FindStringSubmatch(s.Entrypoint[2])
	require.NotNil(t, m, s.Entrypoint)
	return map[string]string{m[1]: "host" + m[2]}
}

func TestComposeHasEveryRole(t *testing.T) {
	t.Parallel()
	file, nodes := composed(t)
	count := make(map[config.Role]int)
	for name, c := range nodes {
		require.Len(t, c.Node.Roles, 1, name)
		count[c.Node.Roles[0]] += max(1, file.Services[name].Deploy.Replicas)
	}
	require.Equal(t, map[config.Role]int{
		config.Router: 2, config.IntakeRole: 3, config.QueryRole: 2, config.CompactRole: 2, config.AlertRole: 1,
	}, count)
}

func TestComposeNodes(t *testing.T) {
	t.Parallel()
	file, nodes := composed(t)
	for name, c := range nodes {
		s := file.Services[name]
		require.Greater(t, s.StopGracePeriod, c.Node.DrainTimeout, name)
		require.Empty(t, s.Ports, "%s: only the load balancer is reached from outside", name)
		require.Equal(t, "host:"+strconv.Itoa(c.GRPC.Port), c.Cluster.AdvertiseAddr, name)
		require.False(t, c.GRPC.IsLoopback(), name)
		probe := strings.Join(s.Healthcheck.Test, " ")
		require.Contains(t, probe, "/dev/tcp/127.0.0.1/"+strconv.Itoa(c.HTTP.Port)+" ", name)
		require.Contains(t, probe, "GET "+pathReady+" HTTP", name)
		if !c.Node.Has(config.IntakeRole) {
			require.Empty(t, s.Environment["MS_NODE_ID"], "%s: replicas must not share a node.id", name)
		}
	}
}

func TestComposeIntakesHaveNamesAndVolumes(t *testing.T) {
	t.Parallel()
	file, nodes := composed(t)
	ids, volumes := make(map[string]bool), make(map[string]bool)
	for name, c := range nodes {
		if !c.Node.Has(config.IntakeRole) {
			continue
		}
		s := file.Services[name]
		require.Zero(t, s.Deploy.Replicas, name)
		require.Equal(t, name, s.Environment["MS_NODE_ID"], "the name stays when the container is made anew")
		require.Equal(t, name, s.Hostname, "other nodes find it under this name")
		require.Len(t, s.Volumes, 1)
		volume, path, _ := strings.Cut(s.Volumes[0], ":")
		require.Contains(t, file.Volumes, volume)
		require.Equal(t, c.Node.DataDir, path)
		require.True(t, strings.HasPrefix(c.WAL.Dir, path+"/"), "the log lies on the volume: %s", c.WAL.Dir)
		ids[c.Node.ID], volumes[volume] = true, true
	}
	require.Len(t, ids, 3)
	require.Len(t, volumes, 3)
}

func TestComposeStores(t *testing.T) {
	t.Parallel()
	file, nodes := composed(t)
	database, s3 := file.Services["postgres"].Environment, file.Services["s3"]
	for name, c := range nodes {
		dsn, err := url.Parse(c.MetaDatabase.DSN)
		require.NoError(t, err)
		password, _ := dsn.User.Password()
		require.Equal(t, "postgres", dsn.Hostname(), name)
		require.Equal(t, database["POSTGRES_USER"], dsn.User.Username())
		require.Equal(t, database["POSTGRES_PASSWORD"], password)
		require.Equal(t, database["POSTGRES_DB"], strings.TrimPrefix(dsn.Path, "/"))

		o := c.ObjectStore
		endpoint, err := url.Parse(o.Endpoint)
		require.NoError(t, err)
		require.Equal(t, "s3", endpoint.Hostname(), name)
		require.Contains(t, s3.Entrypoint[2], "--port :"+endpoint.Port()+" ")
		require.Equal(t, s3.Environment["ROOT_ACCESS_KEY"], o.AccessKey.Reveal())
		require.Equal(t, s3.Environment["ROOT_SECRET_KEY"], o.SecretKey.Reveal())
		require.Equal(t, s3.Environment["BUCKET"], o.Bucket)
		require.Equal(t, s3.Environment["REGION"], o.Region)
		require.True(t, o.PathStyle)
	}
}

func TestComposeBalancer(t *testing.T) {
	t.Parallel()
	file, nodes := composed(t)
	balancer, router := file.Services["balancer"], nodes["router"]
	require.Equal(t, []string{"./haproxy.cfg:/usr/local/etc/haproxy/haproxy.cfg:ro"}, balancer.Volumes)
	var published []int
	for _, p := range balancer.Ports {
		m := regexp.MustCompile(`^127\.0\.0\.1:(\d+):(\d+)$`).FindStringSubmatch(p)
		require.NotNil(t, m, p)
		require.Equal(t, m[1], m[2])
		published = append(published, number(t, m[1]))
	}
	slices.Sort(published)
	require.Equal(t, reachable(router), published)

	text := read(t, "compose", "haproxy.cfg")
	require.Contains(t, text, "option httpchk GET "+pathReady+"\n")
	require.Contains(t, text, "default-server check ")
	var listened []int
	for _, section := range strings.Split(text, "\nlisten ")[1:] {
		bind := regexp.MustCompile(`(?m)^ +bind :(\d+)`).FindStringSubmatch(section)
		server := regexp.MustCompile(`(?m)^ +server-template \S+ \d+ router:(\d+) (.*)$`).FindStringSubmatch(section)
		require.NotNil(t, bind, section)
		require.NotNil(t, server, section)
		require.Equal(t, bind[1], server[1])
		port := number(t, bind[1])
		listened = append(listened, port)
		if port != router.HTTP.Port {
			require.Contains(t, server[2], "check port "+strconv.Itoa(router.HTTP.Port), "readiness is asked on the HTTP port")
		}
		if port == router.OTLPGRPC.Port {
			require.Contains(t, bind[0]+section, "proto h2")
			require.Contains(t, server[2], "proto h2 ")
			require.Contains(t, server[2], "check-proto h1")
		}
	}
	slices.Sort(listened)
	require.Equal(t, published, listened)
	require.FileExists(t, filepath.Join("compose", ".env.example"))
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}
