// Package sqlplan turns the text of a user's statement into a checked plan. It decides what SQL is accepted; it reads and runs nothing.
//
// A statement goes through three steps:
//
//	Planner.Parse   text → Statement: one of our own statements (SHOW, DESCRIBE, CREATE DATABASE …) or a Query
//	Query.Resolve   table names → streams of the asking org; errors list what exists
//	Query.Bind      columns of those streams → Plan: the rewritten text, and for every table what must be read of it
//
// Invariants:
//
//   - The statement's tree comes from the engine's own parser (Engine.SerializeSQL), never from a pattern over the text. Every node of
//     it is of a known kind with known fields, every function is on the list of Functions; anything else is refused with its name
//     and place. New syntax of a newer engine is refused until it is described here.
//   - The text of a Plan names no table but the generated ones of its Tables (ms_t0, ms_t1, …) and its own common table expressions.
//     Bind parses what it made once more and fails if that does not hold.
//   - Columns, time ranges, predicates and words of a Table are supersets of what the statement needs: reading more changes no
//     answer, reading less is a defect. What is not understood widens them.
//   - Errors about the statement are fault.Invalid (or fault.NotFound for a stream), begin with the line and column in the user's
//     text and never contain a generated name; Plan.UserError does the same to errors of the engine.
//
// Values of this package are immutable once made, except that Resolve fills in a Query. A Planner is safe for concurrent use.
//
// The package imports answer, catalog, signal, words and fault. It must not import duck (its engine comes through an interface), nor any
// role.
package sqlplan
