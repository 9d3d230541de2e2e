package fairqueue

import "container/list"

// MaxActorLevels is how many levels of an actor's path have turns of their own; deeper ones share the turn of the last.
const MaxActorLevels = 5

// actors is a tree of the queries of one org that wait. A node has queries of its own and children; both take turns, the node's own
// queries as one. Nodes without queries do not exist, so the tree is never larger than what waits.
type actors struct {
	parent   *actors
	name     string
	children map[string]*actors
	own      *list.List    // of *waiter, in order of arrival
	turns    *list.List    // of *actors: who is next; the node itself stands for its own queries
	ownTurn  *list.Element // in turns, nil without own queries
	turn     *list.Element // in parent's turns
}

func newActors(parent *actors, name string) *actors {
	return &actors{parent: parent, name: name, children: make(map[string]*actors), own: list.New(), turns: list.New()}
}

// at returns the node of a path, making it.
func (a *actors) at(path []string) *actors {
	if len(path) > MaxActorLevels {
		path = path[:MaxActorLevels]
	}
	for _, name := range path {
		next := a.children[name]
		if next == nil {
			next = newActors(a, name)
			a.children[name] = next
			next.turn = a.turns.PushBack(next)
		}
		a = next
	}
	return a
}

// push adds a query at the end of its actor's.
func (a *actors) push(w *waiter) {
	n := a.at(w.ask.Actor)
	w.place, w.node = n.own.PushBack(w), n
	if n.ownTurn == nil {
		n.ownTurn = n.turns.PushBack(n)
	}
}

// pushFirst adds a query before all others, and gives its actor the next turn.
func (a *actors) pushFirst(w *waiter) {
	n := a.at(w.ask.Actor)
	w.place, w.node = n.own.PushFront(w), n
	if n.ownTurn == nil {
		n.ownTurn = n.turns.PushFront(n)
	}
	n.turns.MoveToFront(n.ownTurn)
	for ; n.parent != nil; n = n.parent {
		n.parent.turns.MoveToFront(n.turn)
	}
}

// first returns the query whose turn it is, nil when none waits.
func (a *actors) first() *waiter {
	return a.next(func(*waiter) bool { return true })
}

// next returns the first query in turn that may run. The first one of each actor is asked about, since an actor's queries keep their
// order.
func (a *actors) next(may func(*waiter) bool) *waiter {
	for e := a.turns.Front(); e != nil; e = e.Next() {
		n := e.Value.(*actors) //nolint:forcetypeassert // only these are pushed
		if n != a {
			if w := n.next(may); w != nil {
				return w
			}
			continue
		}
		if w := a.own.Front().Value.(*waiter); may(w) { //nolint:forcetypeassert // only these are pushed
			return w
		}
	}
	return nil
}

// served moves the actor of a query behind the others. It comes before remove.
func (w *waiter) served() {
	n := w.node
	n.turns.MoveToBack(n.ownTurn)
	for ; n.parent != nil; n = n.parent {
		n.parent.turns.MoveToBack(n.turn)
	}
}

// remove takes a query out of the tree, and the nodes that are empty then.
func (w *waiter) remove() {
	n := w.node
	n.own.Remove(w.place)
	w.place, w.node = nil, nil
	if n.own.Len() == 0 {
		n.turns.Remove(n.ownTurn)
		n.ownTurn = nil
	}
	for ; n.parent != nil && n.turns.Len() == 0; n = n.parent {
		n.parent.turns.Remove(n.turn)
		delete(n.parent.children, n.name)
	}
}
