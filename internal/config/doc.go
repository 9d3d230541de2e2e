// Package config reads the settings of a process: a TOML file below environment variables below defaults, as one tree.
//
// A key's name, default, unit and description stand in one place, the declare method of its section. The reference docs/config.md, the
// variables' names and the printed form are made from there. Load is strict and complete: unknown keys and variables are faults,
// and all faults are reported at once, each with its line or variable. Warnings are apart from faults.
//
// Secrets come from the environment or from files that a variable names (MS_…_FILE), never from the TOML file, and are of a type
// that does not print. Only the top of the program imports this package: everybody else takes options. It imports fault, limits, bytesize
// and a TOML parser.
package config
