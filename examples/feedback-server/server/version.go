package server

import "runtime/debug"

// Version returns the version of the program: a tag, or one that contains the commit; "(devel)" for
// go run and other builds without version control.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}
