package capability

import (
	"errors"
	"os"
	"path/filepath"

	"lessonkit.example/capability"
	"lessonkit.example/internal/bench/harness"
)

// read returns the capability files of the folder that CAPABILITY_CORPUS names, and the largest
// acl-manifests.json of the folder manifests beside it.
func read() (files [][]byte, manifests *capability.Manifests) {
	dir := os.Getenv("CAPABILITY_CORPUS")
	names := harness.Must(filepath.Glob(filepath.Join(dir, "*.json")))
	if dir == "" || len(names) == 0 {
		harness.Check(errors.New("CAPABILITY_CORPUS must name a folder of capability files (*.json)"))
	}
	for _, name := range names {
		files = append(files, harness.Must(os.ReadFile(name)))
	}
	var file string
	var largest []byte
	for _, name := range harness.Must(filepath.Glob(filepath.Join(dir, "..", "manifests", "*.json"))) {
		if text := harness.Must(os.ReadFile(name)); len(text) > len(largest) {
			file, largest = name, text
		}
	}
	manifests = capability.CoreManifests()
	harness.Check(manifests.Load(file, largest).Err())
	return files, manifests
}
