package promapi

import (
	"encoding/json"
	"runtime"
	"strings"
)

// Compatible is the version of Prometheus whose language and API this is, which clients choose their features by.
const Compatible = "3.16.0"

// status answers the paths that say something of the server. What has no meaning here is empty in Prometheus' form, so that clients
// that look at it go on.
func (a *API) status(path string) (*result, error) {
	switch path {
	case "status/buildinfo":
		return asJSON(map[string]string{
			"version": Compatible, "revision": a.opts.Version, "branch": "millstream", "buildUser": "", "buildDate": "",
			"goVersion": strings.TrimPrefix(runtime.Version(), "go"),
		})
	case "status/runtimeinfo":
		return asJSON(map[string]any{"reloadConfigSuccess": true, "GOMAXPROCS": runtime.GOMAXPROCS(0)})
	case "status/flags":
		return asJSON(map[string]string{})
	case "rules":
		return asJSON(map[string]any{"groups": []any{}})
	case "alerts":
		return asJSON(map[string]any{"alerts": []any{}})
	case "targets":
		return asJSON(map[string]any{"activeTargets": []any{}, "droppedTargets": []any{}, "droppedTargetCounts": map[string]int{}})
	default:
		return nil, errNoPath(path)
	}
}

func asJSON(v any) (*result, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &result{data: data}, nil
}
