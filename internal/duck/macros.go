package duck

// macroStatements returns the statements that create the trusted macros of an instance.
func macroStatements() []string { return nil }
