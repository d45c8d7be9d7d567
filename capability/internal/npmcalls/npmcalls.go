// Package npmcalls finds the commands that npm packages of the framework call.
package npmcalls

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// Call is a call of a plugin's command.
type Call struct{ Plugin, Command string }

// call describes a command in the code of a package: "plugin:fs|read_file".
var call = regexp.MustCompile(`plugin:([a-z-]+)\|([a-z_]+)`)

// Of installs a version of a package in a temporary folder, and returns the calls in the scripts
// that a pattern of [filepath.Glob] selects in the package.
func Of(name, version, scripts string) ([]Call, error) {
	dir, err := os.MkdirTemp("", "npmcalls")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	install := exec.Command("npm", "install", "--silent", "--no-save", "--ignore-scripts", "--prefix", dir,
		name+"@"+version)
	if out, err := install.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm install %s@%s: %w: %s", name, version, err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "node_modules", name, scripts))
	if err != nil {
		return nil, err
	}
	var calls []Call
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, match := range call.FindAllStringSubmatch(string(text), -1) {
			calls = append(calls, Call{match[1], match[2]})
		}
	}
	return calls, nil
}
