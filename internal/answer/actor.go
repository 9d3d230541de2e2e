package answer

import (
	"net/http"
	"strings"
)

// ActorPathHeader carries who asks below the credential, levels divided by "|". The name is Loki's.
const ActorPathHeader = "X-Loki-Actor-Path"

// Bounds of an actor's path: clients choose it.
const (
	maxActorLevels     = 3
	maxActorLevelBytes = 64
)

// ParseActorPath returns the levels of the header. Empty ones are left out, levels beyond the third and bytes of a level beyond the 64th
// count for nothing.
func ParseActorPath(h http.Header) []string {
	var path []string
	for level := range strings.SplitSeq(h.Get(ActorPathHeader), "|") {
		level = strings.TrimSpace(level)
		if level == "" {
			continue
		}
		path = append(path, level[:min(len(level), maxActorLevelBytes)])
		if len(path) == maxActorLevels {
			break
		}
	}
	return path
}
