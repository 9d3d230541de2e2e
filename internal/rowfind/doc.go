// Package rowfind reads the few rows that a selective question needs out of data files, in front of the SQL engine.
//
// A Search gets files with the row groups that may be read, conditions that every wanted row fulfils, and the columns that are wanted. It
// reads the columns of the conditions, on all processors, and the wanted columns of the rows that are left (late materialisation), and
// gives them as Arrow records. The engine then runs the whole statement over them; nothing here decides what is in an answer.
//
// Count is for statements that need to know only how many rows there are of each combination of values: it counts them by the codes of
// their dictionaries, and the engine runs the statement over the counts.
//
// Invariants:
//
//   - What is found is a superset of the rows that fulfil all conditions: a row is left out only when a condition is false for it as
//     the engine reads it, and a condition that a file cannot judge is not given.
//   - A search that finds too much stops early and says which files it has not finished; nothing of those is in its result. So the
//     worst case costs a part of what the engine pays for the same rows.
//   - With an Order, the rows of one end of time are found first, and the result says from where on it is complete.
//   - A damaged file is fault.Corrupt, as the engine would fail on it, and never a shorter answer. A file that package parquetfile
//     refuses is left to the engine.
//
// A Footers cache is safe for concurrent use; a Search is used by one goroutine, and its goroutines end before Find returns. The package
// imports parquetfile, sqlplan (for conditions), signal, words and fault; no engine, no catalog.
package rowfind
