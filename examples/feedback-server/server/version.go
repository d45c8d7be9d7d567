package server

import "runtime/debug"

// Version returns the version of the program: a tag, or one that contains the commit.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}
