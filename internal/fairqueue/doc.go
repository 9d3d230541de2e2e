// Package fairqueue decides which org's query runs next when more are asked for than can run.
//
// A queue hands out slots, of which there are Capacity. Every org has a line of its own. A freed slot goes to the line with the
// smallest key, compared in this order:
//
//  1. slots that the org holds, divided by its weight
//  2. slot-seconds that it has used lately, divided by its weight; they halve every 30 s
//  3. arrival of the line's next query
//
// So an org that holds nothing gets the next freed slot however long the queries of others are, which turns alone do not give. An org
// that becomes active is lifted to the least use among the active ones: having been idle earns nothing.
//
// Within a line actors take turns: the users or tokens of the org, and below each the levels of a path that clients may send. The
// rotation goes on behind the actor served last.
//
// # The reserve
//
// With four slots and more, an org that holds all but a quarter of them gets another one only if no other org has waited or run for
// 10 s. A light org therefore usually finds a free slot; an org that is alone gets all.
//
// # Invariants
//
//   - Never more slots are out than Capacity, unless it has just been lowered; never more for an org than its MaxRunning.
//   - No slot is idle beside a query that may have it.
//   - A query of several orgs takes one slot and is charged to each of them, so that spreading queries over combinations of orgs gains
//     nothing. It stands in the line of the one that is worst off.
//   - A query that leaves the line costs nothing: no turn, no slot. A slot is given back once, however often Release is called.
//   - Lines of orgs that have nothing waiting and nothing running are kept only while their use still counts.
//
// Everything is decided under one mutex, in time logarithmic in the number of lines. Queues of several routers know nothing of each
// other: fairness holds for each.
//
// The package keeps the time of package time (tests run it in testing/synctest). It imports values and the metrics library alone.
package fairqueue
