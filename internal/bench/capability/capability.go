// Package capability measures the checking of capability files against a general validator with the
// JSON Schema of the format, santhosh-tekuri/jsonschema.
package capability

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"lessonkit.example/capability"
	"lessonkit.example/capability/lint"
	"lessonkit.example/internal/bench/harness"
)

// turn is how long each side of a pair runs.
const turn = 300 * time.Millisecond

// genericSchema accepts any permission identifier.
//
//go:embed schema.json
var genericSchema []byte

// Run measures the files of CAPABILITY_CORPUS.
func Run(h *harness.Harness) {
	files, manifests := read()
	// What the identifiers of the schema add is a part of what lint.Check reports.
	ours := func() float64 {
		return 1 / each(files, func(f []byte) {
			d := capability.Parse(f, capability.Options{})
			lint.Check([]*capability.Document{d}, manifests, lint.Options{})
		})
	}
	name := fmt.Sprintf("lint, or a schema with %d identifiers", len(manifests.Identifiers()))
	h.Alternate(harness.Row{Name: name, Unit: "files/s", PeerName: "jsonschema", Must: 5}, ours,
		validate(files, projectSchema(manifests)))
}

// each runs do over the files for a while and returns the processor's seconds per file, collecting
// garbage included. Time on the clock would measure the machine's other work too.
func each(files [][]byte, do func([]byte)) float64 {
	runtime.GC()
	n := 0
	start := harness.ProcessorTime()
	for harness.ProcessorTime()-start < turn {
		for _, f := range files {
			do(f)
		}
		n += len(files)
	}
	return (harness.ProcessorTime() - start).Seconds() / float64(n)
}

// projectSchema returns the schema with the permission identifiers that the manifests contain.
func projectSchema(m *capability.Manifests) []byte {
	type object = map[string]any
	var schema object
	harness.Check(json.Unmarshal(genericSchema, &schema))
	var known []object
	for _, id := range m.Identifiers() {
		known = append(known, object{"type": "string", "const": id, "description": m.Description(id)})
	}
	schema["definitions"].(object)["Identifier"] = object{"oneOf": known}
	return harness.Must(json.Marshal(schema))
}

// validate returns a measure of the files that the peer reads and validates in a second.
func validate(files [][]byte, schema []byte) func() float64 {
	v := harness.Must(jsonschema.UnmarshalJSON(bytes.NewReader(schema)))
	c := jsonschema.NewCompiler()
	harness.Check(c.AddResource("capability.json", v))
	compiled := harness.Must(c.Compile("capability.json"))
	return func() float64 {
		return 1 / each(files, func(f []byte) {
			_ = compiled.Validate(harness.Must(jsonschema.UnmarshalJSON(bytes.NewReader(f))))
		})
	}
}

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
