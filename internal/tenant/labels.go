package tenant

import "sync"

// MaxLabels is how many orgs have metric series of their own; ids come from clients.
const MaxLabels = 1000

// OtherLabel stands for the orgs beyond MaxLabels. Ids have no braces.
const OtherLabel = "{other}"

// Labels gives orgs their labels in metrics: the first MaxLabels their own, the others OtherLabel. The zero value is ready for use, and
// safe for concurrent use.
type Labels struct {
	mu   sync.Mutex
	orgs map[ID]struct{}
}

// Of returns the label of an org.
func (l *Labels) Of(org ID) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.orgs[org]; ok {
		return string(org)
	}
	if len(l.orgs) >= MaxLabels {
		return OtherLabel
	}
	if l.orgs == nil {
		l.orgs = make(map[ID]struct{})
	}
	l.orgs[org] = struct{}{}
	return string(org)
}
