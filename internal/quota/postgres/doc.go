// Package postgres keeps reports and divisions of budgets in PostgreSQL (package share says what for).
//
// Every age is computed by the server's clock in the statement that needs it. One frontend at a time divides a budget: it holds an advisory
// lock of the transaction, so a frontend that dies gives it up. What it reads under the lock is committed, since each statement sees what
// was committed before it began.
//
// The tables have a schema of their own beside those of the catalog and of the cluster. Parameters are always bound.
package postgres
