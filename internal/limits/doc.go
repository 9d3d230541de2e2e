// Package limits holds what an org may do: the struct Limits with a field for every limit that an org has of its own, the one table of
// them, and Source, which answers what is in force for an org.
//
// The table (Definitions) is the only place that knows a limit's name, default, unit, rule and refusal. Reading settings and the
// overrides file, printing, the effective limits that operators ask for, and docs/operate/limits.md are all made from it. Names, units
// and meanings are Loki's wherever Loki has the limit, so that a file written for Loki means the same here; the defaults are this
// project's own: what is not needed to keep the process alive is off.
//
// A Source is read without locks and replaced as a whole: one call of For sees the limits of one generation, never a mixture.
//
// The package parses values, not files, and knows no protocol: it imports fault, tenant and bytesize alone.
package limits
