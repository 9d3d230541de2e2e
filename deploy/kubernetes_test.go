package deploy_test

import (
	"fmt"
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

// object is what the tests look at in a manifest, whatever its kind.
type object struct {
	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string // ConfigMap
	Secrets  map[string]string `yaml:"stringData"`
	Spec     struct {
		// Workloads
		Replicas             int
		ServiceName          string `yaml:"serviceName"`
		MinReadySeconds      int    `yaml:"minReadySeconds"`
		Template             pod
		VolumeClaimTemplates []struct{ Metadata struct{ Name string } } `yaml:"volumeClaimTemplates"`
		// Services
		Type                     string
		ClusterIP                string `yaml:"clusterIP"`
		PublishNotReadyAddresses bool   `yaml:"publishNotReadyAddresses"`
		Ports                    []struct {
			Name       string
			Port       int
			TargetPort string `yaml:"targetPort"`
		}
		// Services have labels here, all others a selector.
		Selector any
		// Network policies
		PodSelector selector `yaml:"podSelector"`
		PolicyTypes []string `yaml:"policyTypes"`
		Ingress     []struct{ Ports []struct{ Port int } }
		// Disruption budgets
		MaxUnavailable int `yaml:"maxUnavailable"`
	}
}

type selector struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}

type pod struct {
	Metadata struct{ Labels map[string]string }
	Spec     struct {
		TerminationGracePeriodSeconds int   `yaml:"terminationGracePeriodSeconds"`
		EnableServiceLinks            *bool `yaml:"enableServiceLinks"`
		SecurityContext               struct {
			RunAsNonRoot bool `yaml:"runAsNonRoot"`
			RunAsUser    int  `yaml:"runAsUser"`
			FSGroup      int  `yaml:"fsGroup"`
		} `yaml:"securityContext"`
		Containers []container
		Volumes    []struct {
			Name     string
			EmptyDir *struct{} `yaml:"emptyDir"`
		}
	}
}

type container struct {
	Image   string
	Ports   []containerPort
	EnvFrom []struct {
		ConfigMapRef struct{ Name string } `yaml:"configMapRef"`
		SecretRef    struct{ Name string } `yaml:"secretRef"`
	} `yaml:"envFrom"`
	Env []struct {
		Name, Value string
		ValueFrom   struct {
			FieldRef struct {
				FieldPath string `yaml:"fieldPath"`
			} `yaml:"fieldRef"`
		} `yaml:"valueFrom"`
	}
	Lifecycle struct {
		PreStop struct {
			Exec struct{ Command []string }
		} `yaml:"preStop"`
	}
	ReadinessProbe probe `yaml:"readinessProbe"`
	LivenessProbe  probe `yaml:"livenessProbe"`
	Resources      struct{ Limits struct{ Memory string } }
	VolumeMounts   []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

type containerPort struct {
	Name          string
	ContainerPort int `yaml:"containerPort"`
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

const secretTemplate = "secret.example.yaml"

// manifests returns all objects of the kustomization and those of the secret's template.
func manifests(t *testing.T) []object {
	t.Helper()
	kustomization := decode[struct{ Resources []string }](t, read(t, "kubernetes", "kustomization.yaml"))[0]
	listed := append(kustomization.Resources, "kustomization.yaml", secretTemplate)
	found, err := filepath.Glob(filepath.Join("kubernetes", "*"))
	require.NoError(t, err)
	var names []string
	for _, f := range found {
		names = append(names, filepath.Base(f))
	}
	require.ElementsMatch(t, names, listed, "kustomization.yaml lists all files but the secret's template")
	var out []object
	for _, name := range append(kustomization.Resources, secretTemplate) {
		out = append(out, decode[object](t, read(t, "kubernetes", name))...)
	}
	return out
}

// ofKind returns the objects of some kinds.
func ofKind(all []object, kinds ...string) (out []object) {
	for _, o := range all {
		if slices.Contains(kinds, o.Kind) {
			out = append(out, o)
		}
	}
	return out
}

// workload is a role's pods and the settings that they have.
type workload struct {
	object
	container
	settings *config.Config
}

// workloads returns the pods by role.
func workloads(t *testing.T, all []object) map[config.Role]workload {
	t.Helper()
	shared := make(map[string]map[string]string)
	for _, o := range ofKind(all, "ConfigMap", "Secret") {
		shared[o.Kind+"/"+o.Metadata.Name] = merge(o.Data, o.Secrets)
	}
	out := make(map[config.Role]workload)
	for _, o := range ofKind(all, "Deployment", "StatefulSet") {
		require.Len(t, o.Spec.Template.Spec.Containers, 1)
		w := workload{object: o, container: o.Spec.Template.Spec.Containers[0]}
		w.settings = load(t, environment(t, w.container, shared), memoryBytes(t, w.Resources.Limits.Memory))
		require.Len(t, w.settings.Node.Roles, 1)
		role := w.settings.Node.Roles[0]
		require.NotContains(t, out, role)
		require.Equal(t, "millstream-"+string(role), o.Metadata.Name)
		require.Equal(t, string(role), o.Spec.Template.Metadata.Labels["app.kubernetes.io/component"])
		out[role] = w
	}
	return out
}

// environment returns a container's variables as Kubernetes makes them.
func environment(t *testing.T, c container, shared map[string]map[string]string) map[string]string {
	t.Helper()
	fields := map[string]string{"metadata.name": "pod-0", "status.podIP": "10.1.2.3"}
	env := make(map[string]string)
	for _, from := range c.EnvFrom {
		source := "ConfigMap/" + from.ConfigMapRef.Name
		if from.SecretRef.Name != "" {
			source = "Secret/" + from.SecretRef.Name
		}
		require.Contains(t, shared, source)
		env = merge(env, shared[source])
	}
	reference := regexp.MustCompile(`\$\((\w+)\)`)
	for _, v := range c.Env {
		value := v.Value
		if path := v.ValueFrom.FieldRef.FieldPath; path != "" {
			require.Contains(t, fields, path)
			value = fields[path]
		}
		env[v.Name] = reference.ReplaceAllStringFunc(value, func(m string) string {
			name := reference.FindStringSubmatch(m)[1]
			require.Contains(t, env, name, "a variable stands above those that name it")
			return env[name]
		})
	}
	return env
}

// memoryBytes returns a quantity of memory.
func memoryBytes(t *testing.T, quantity string) int64 {
	t.Helper()
	var n int64
	var unit string
	_, err := fmt.Sscanf(quantity, "%d%s", &n, &unit)
	require.NoError(t, err, "a memory limit: %q", quantity)
	shift, ok := map[string]int{"Mi": 20, "Gi": 30}[unit]
	require.True(t, ok, quantity)
	return n << shift
}

func TestKubernetesRoles(t *testing.T) {
	t.Parallel()
	kinds := make(map[config.Role]string)
	for role, w := range workloads(t, manifests(t)) {
		kinds[role] = w.Kind
	}
	require.Equal(t, map[config.Role]string{
		config.Router: "Deployment", config.IntakeRole: "StatefulSet", config.QueryRole: "Deployment",
		config.CompactRole: "Deployment", config.AlertRole: "Deployment",
	}, kinds)
}

func TestKubernetesPods(t *testing.T) {
	t.Parallel()
	image := decode[struct{ Images []struct{ Name string } }](t, read(t, "kubernetes", "kustomization.yaml"))[0].Images[0].Name
	for role, w := range workloads(t, manifests(t)) {
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			c, p := w.settings, w.Spec.Template.Spec
			require.Equal(t, image, w.Image)
			require.Equal(t, "pod-0", c.Node.ID, "a pod's name is its own")
			require.Equal(t, "10.1.2.3:"+strconv.Itoa(c.GRPC.Port), c.Cluster.AdvertiseAddr)
			require.Equal(t, w.Spec.Template.Metadata.Labels, labels(t, w.Spec.Selector))
			require.NotNil(t, p.EnableServiceLinks)
			require.False(t, *p.EnableServiceLinks)

			var ports []int
			names := make(map[string]int)
			for _, port := range w.Ports {
				ports = append(ports, port.ContainerPort)
				names[port.Name] = port.ContainerPort
			}
			slices.Sort(ports)
			require.Equal(t, reachable(c), ports)
			require.Equal(t, pathReady, w.ReadinessProbe.HTTPGet.Path)
			require.Equal(t, c.HTTP.Port, names[w.ReadinessProbe.HTTPGet.Port])
			require.Equal(t, pathHealthy, w.LivenessProbe.HTTPGet.Path)
			require.Equal(t, c.HTTP.Port, names[w.LivenessProbe.HTTPGet.Port])

			require.True(t, p.SecurityContext.RunAsNonRoot)
			require.Equal(t, uid, p.SecurityContext.RunAsUser, "the user of the image")
			require.Equal(t, uid, p.SecurityContext.FSGroup, "the volume belongs to that user")
			mounts := make(map[string]string)
			for _, m := range w.VolumeMounts {
				mounts[m.MountPath] = m.Name
			}
			require.Equal(t, "data", mounts[c.Node.DataDir])
			grace := time.Duration(p.TerminationGracePeriodSeconds) * time.Second
			require.Greater(t, grace, c.Node.DrainTimeout+hookTime(t, w.Lifecycle.PreStop.Exec.Command))
		})
	}
}

// labels returns the labels of a workload's selector.
func labels(t *testing.T, selector any) map[string]string {
	t.Helper()
	m, ok := selector.(map[string]any)
	require.True(t, ok)
	if inner, ok := m["matchLabels"].(map[string]any); ok {
		m = inner
	}
	out := make(map[string]string)
	for name, value := range m {
		out[name] = fmt.Sprint(value)
	}
	return out
}

// hookTime returns how long a preStop hook may take.
func hookTime(t *testing.T, command []string) time.Duration {
	t.Helper()
	if len(command) == 0 {
		return 0
	}
	if command[0] == "sleep" {
		return time.Duration(number(t, command[1])) * time.Second
	}
	m := regexp.MustCompile(`--timeout (\S+)`).FindStringSubmatch(strings.Join(command, " "))
	require.NotNil(t, m, command)
	d, err := time.ParseDuration(m[1])
	require.NoError(t, err)
	return d
}

func TestKubernetesIntakeKeepsItsLog(t *testing.T) {
	t.Parallel()
	all := manifests(t)
	w := workloads(t, all)[config.IntakeRole]
	c := w.settings
	require.Equal(t, 3, w.Spec.Replicas)
	require.Len(t, w.Spec.VolumeClaimTemplates, 1)
	require.Equal(t, "data", w.Spec.VolumeClaimTemplates[0].Metadata.Name, "the volume at node.data_dir outlives the pod")
	for _, v := range w.Spec.Template.Spec.Volumes {
		require.NotEqual(t, "data", v.Name)
	}
	require.True(t, strings.HasPrefix(c.WAL.Dir, c.Node.DataDir+"/"), c.WAL.Dir)
	pause := time.Duration(w.Spec.MinReadySeconds) * time.Second
	require.Greater(t, pause, c.Cluster.PeerTimeout, "the next one waits until this one is a member")

	hook := w.Lifecycle.PreStop.Exec.Command
	require.Len(t, hook, 3)
	require.Equal(t, []string{"sh", "-c"}, hook[:2], "Kubernetes puts no variables into hooks")
	require.NotContains(t, hook[2], "$(")
	line, ok := strings.CutPrefix(hook[2], "exec ")
	require.True(t, ok, "the shell must hand over, or a signal ends it alone")
	require.True(t, strings.HasPrefix(line, `millstream cluster drain "$MS_NODE_ID" --wait`), line)
	require.Empty(t, checkCommand(commands(t), line))

	i := slices.IndexFunc(ofKind(all, "Service"), func(o object) bool { return o.Metadata.Name == w.Spec.ServiceName })
	require.GreaterOrEqual(t, i, 0, "the StatefulSet's service")
	require.Equal(t, "None", ofKind(all, "Service")[i].Spec.ClusterIP)
	require.True(t, ofKind(all, "Service")[i].Spec.PublishNotReadyAddresses)
}

func TestKubernetesServices(t *testing.T) {
	t.Parallel()
	all := manifests(t)
	pods := workloads(t, all)
	for _, s := range ofKind(all, "Service") {
		role := config.Role(labels(t, s.Spec.Selector)["app.kubernetes.io/component"])
		w, ok := pods[role]
		require.True(t, ok, s.Metadata.Name)
		require.Equal(t, w.Spec.Template.Metadata.Labels, labels(t, s.Spec.Selector), s.Metadata.Name)
		var offered []int
		for _, p := range s.Spec.Ports {
			i := slices.IndexFunc(w.Ports, func(c containerPort) bool { return c.Name == p.TargetPort })
			require.GreaterOrEqual(t, i, 0, "%s: port %s", s.Metadata.Name, p.TargetPort)
			require.Equal(t, w.Ports[i].ContainerPort, p.Port)
			offered = append(offered, p.Port)
		}
		slices.Sort(offered)
		if role == config.Router {
			require.Equal(t, "ClusterIP", s.Spec.Type, "a gateway stands between this and the world")
			require.Equal(t, reachable(w.settings), offered)
			continue
		}
		require.Equal(t, []int{w.settings.GRPC.Port}, offered, "%s: the port of the three paths stays internal", s.Metadata.Name)
	}
}

func TestKubernetesNetwork(t *testing.T) {
	t.Parallel()
	all := manifests(t)
	pods := workloads(t, all)
	allowed := make(map[string][]int)
	for _, p := range ofKind(all, "NetworkPolicy") {
		require.Equal(t, []string{"Ingress"}, p.Spec.PolicyTypes)
		allowed[p.Metadata.Name] = nil
		for _, in := range p.Spec.Ingress {
			for _, port := range in.Ports {
				allowed[p.Metadata.Name] = append(allowed[p.Metadata.Name], port.Port)
			}
		}
		slices.Sort(allowed[p.Metadata.Name])
	}
	router := pods[config.Router].settings
	require.Equal(t, map[string][]int{
		"millstream-deny": nil, "millstream-gateway": reachable(router),
		"millstream-peers": {router.GRPC.Port}, "millstream-metrics": {router.HTTP.Port},
	}, allowed)
}

func TestKubernetesDisruption(t *testing.T) {
	t.Parallel()
	all := manifests(t)
	budgets := ofKind(all, "PodDisruptionBudget")
	require.Len(t, budgets, 5)
	for role, w := range workloads(t, all) {
		i := slices.IndexFunc(budgets, func(o object) bool { return o.Metadata.Name == w.Metadata.Name })
		require.GreaterOrEqual(t, i, 0, role)
		require.Equal(t, 1, budgets[i].Spec.MaxUnavailable)
		require.Equal(t, w.Spec.Template.Metadata.Labels, labels(t, budgets[i].Spec.Selector))
	}
}

func TestKubernetesMetricsPath(t *testing.T) {
	t.Parallel()
	for role, w := range workloads(t, manifests(t)) {
		text := read(t, "kubernetes", string(role)+".yaml")
		require.Contains(t, text, fmt.Sprintf(`prometheus.io/port: "%d", prometheus.io/path: %s}`, w.settings.HTTP.Port, pathMetrics))
	}
}
