package cli

import (
	"fmt"
	"path/filepath"
	"runtime/debug"
)

// version prints which build this is.
func version(c *command, args []string) (int, error) {
	if err := c.parse(args, "", "text"); err != nil {
		return 0, err
	}
	_, err := fmt.Fprintln(c.env.Stdout, "capability "+toolVersion())
	return ExitClean, err
}

// toolVersion returns the version of the module, which has the revision of the repository it was
// built from.
func toolVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	return "development"
}

// repository returns the folder of the repository that the working directory is in, or that
// directory itself.
func repository() string {
	here := absolute(".")
	for dir := here; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if exists(filepath.Join(dir, ".git")) { // a folder, or a file in a worktree
			return dir
		}
	}
	return here
}
