package config

import (
	"maps"
	"os"
	"slices"
	"strings"
)

// fileSuffix ends the variable that names a file with a secret.
const fileSuffix = "_FILE"

// readEnv sets keys from variables. Variables of other programs, those without the prefix, are not looked at.
func (c *Config) readEnv(environ []string) (faults Faults, warnings []Warning) {
	byEnv := make(map[string]*key, len(c.keys))
	for _, k := range c.keys {
		byEnv[k.env()] = k
	}
	set := map[*key]string{} // by which variable
	for _, variable := range slices.Sorted(slices.Values(environ)) {
		name, text, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, envPrefix) {
			continue
		}
		k := byEnv[name]
		if file := byEnv[strings.TrimSuffix(name, fileSuffix)]; k == nil && file != nil && file.secret {
			content, err := os.ReadFile(text)
			if err != nil {
				faults.add(name, "cannot be read: %v", err)
				continue
			}
			k, text = file, strings.TrimRight(string(content), "\r\n")
		}
		switch {
		case fromKubernetes(name, text, k != nil):
			warnings = append(warnings, Warning{name, "ignored: it looks like a service variable of Kubernetes"})
		case k == nil:
			faults.add(name, "unknown variable%s", didYouMean(name, slices.Sorted(maps.Keys(byEnv))))
		case set[k] != "":
			faults.add(name, "%s is set too; keep one of them", set[k])
		default:
			set[k] = name
			if err := k.set(k.read(text)); err != nil {
				faults.add(name, "%v", err)
			}
			k.origin = FromEnv
		}
	}
	return faults, warnings
}

// fromKubernetes reports whether a variable was made by Kubernetes for a service called ms-…, as in MS_QUERY_SERVICE_HOST or
// MS_QUERY_PORT_80_TCP. Where the name is one of ours, MS_HTTP_PORT, the value tells: Kubernetes writes tcp://10.0.0.1:80.
func fromKubernetes(name, text string, known bool) bool {
	if known {
		return strings.HasSuffix(name, "_PORT") && strings.Contains(text, "://")
	}
	return strings.HasSuffix(name, "_SERVICE_HOST") || strings.Contains(name, "_PORT")
}
