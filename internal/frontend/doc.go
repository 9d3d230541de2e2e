// Package frontend stands between clients' questions and what answers them: it lets queries wait for their turn, and splits
// long ones.
//
// Every SQL statement that reads rows and every PromQL query takes a slot of the queue (package fairqueue) while it runs, from its first
// word to its last row. Statements about databases and streams and questions for names and labels pass without one.
//
// A query that no querier takes because all are busy is tried again once, before the org's other queries, and then refused as
// unavailable. A query whose client leaves gives its slot back at once; the querier it ran on takes the next one only when it has
// stopped the first, or says that it is busy.
//
// A long statement of an org whose queries are split is answered from parts of its time: a querier says how (answer.Split), in the slot of
// the first part, the others take slots of their own, and package merge puts them together. Whenever that is not exact, or needs more
// memory than one query may take here, the whole is asked.
//
// A Frontend holds no rows but those of parts, and no state but the queue's. It must not import the SQL engine or catalogs.
package frontend
