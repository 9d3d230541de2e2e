package sqlplan

import "github.com/millstream/millstream/internal/signal"

// cutsTime reports whether n, not yet bound, is date_trunc('unit', column) of a stream's column that is a TIMESTAMPTZ in every row.
func (b *binder) cutsTime(n node, sc *scope) bool {
	name, children := n.str("function_name"), n.list("children")
	if name != "date_trunc" && name != "datetrunc" || len(children) != 2 {
		return false
	}
	if typ, _, ok := constantValue(asNode(children[0])); !ok || typ != "VARCHAR" {
		return false
	}
	_, col := b.streamColumn(asNode(children[1]), sc)
	return col != nil && col.class == classTime && col.typ == signal.Timestamp
}

// cutPlainTime makes the bound call date_trunc(unit, t) work on a TIMESTAMP and gives the result its type back. Instances run in UTC,
// where both are the same, and the engine's calendar takes fifty times as long over a TIMESTAMPTZ. Stored times are never infinite.
func cutPlainTime(n node) {
	children := n.list("children")
	plain := newFunction(n, "make_timestamp", newFunction(n, "epoch_us", asNode(children[1])))
	cut := newFunction(n, "date_trunc", asNode(children[0]), plain)
	n.replace(withAlias(newFunction(n, "make_timestamptz", newFunction(n, "epoch_us", cut)), n))
}
