package app

import "runtime"

// version is set by the linker (make build).
//
//nolint:gochecknoglobals // the linker can only set a variable
var version = "dev"

// Version returns the program's version.
func Version() string { return version }

// VersionText returns the line that "millstream version" prints.
func VersionText() string {
	return "millstream " + version + " (" + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")"
}
