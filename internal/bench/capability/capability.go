// Package capability measures the checking of capability files against two general validators with
// the JSON Schema of the format, santhosh-tekuri/jsonschema in Go and ajv in node, whose compiled
// code is the fastest there is; and the time of resolving a project and of a decision about a call.
package capability

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
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
	validators(h, files, manifests)
	decisions(h, files, manifests)
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

func validators(h *harness.Harness, files [][]byte, manifests *capability.Manifests) {
	generic := validate(files, genericSchema)
	text := projectSchema(manifests)
	project := validate(files, text)
	plain := func() float64 {
		return 1 / each(files, func(f []byte) {
			capability.Parse(f, capability.Options{}).Check()
		})
	}
	// What the identifiers of a project's schema add is a part of what lint.Check reports.
	linted := func() float64 {
		return 1 / each(files, func(f []byte) {
			d := capability.Parse(f, capability.Options{})
			lint.Check([]*capability.Document{d}, manifests, lint.Options{})
		})
	}
	row := harness.Row{Name: "plain schema", Unit: "files/s", PeerName: "santhosh-tekuri", Must: 4}
	h.Alternate(row, plain, generic)
	row.Name, row.Must = fmt.Sprintf("lint, or a schema with %d identifiers", len(manifests.Identifiers())), 5
	h.Alternate(row, linted, project)
	if _, err := exec.LookPath("npm"); err != nil {
		fmt.Fprintln(h.Log, "npm is not installed: ajv is left out")
		return
	}
	row.PeerName, row.Must = "ajv", 2
	h.Alternate(row, linted, startNode(h, text, files))
}

// decisions measures resolving a project of 30 capabilities with the first decision, and deciding
// about calls by it.
func decisions(h *harness.Harness, files [][]byte, manifests *capability.Manifests) {
	var capabilities []capability.Capability
	for i, f := range files {
		for _, c := range capability.Parse(f, capability.Options{}).Capabilities() {
			c.Identifier = fmt.Sprintf("%s-%d", c.Identifier, i)
			capabilities = append(capabilities, c)
		}
		if len(capabilities) >= 30 {
			break
		}
	}
	commands := make([]capability.Command, 4)
	for i, text := range []string{
		"plugin:window|title", "plugin:event|emit_to", "plugin:window|destroy", "plugin:x|y",
	} {
		commands[i] = harness.Must(capability.ParseCommand(text))
	}
	var policy *capability.Policy
	h.Repeat(harness.Row{
		Name: fmt.Sprintf("resolve %d capabilities", len(capabilities)), Unit: "ms",
		Better: harness.Lower, Must: 2,
	}, func() float64 {
		return 1e3 * each([][]byte{nil}, func([]byte) {
			policy, _ = capability.Resolve(capabilities, manifests,
				capability.ResolveOptions{Platform: capability.Linux, Partial: true})
			policy.Allowed(commands[0], capability.Caller{Window: "main"}) // sorts the grants
		})
	})
	remote := harness.Must(capability.ParseOrigin("https://app.example.com/page"))
	callers := []capability.Caller{{Window: "main"}, {Window: "settings-1"}, {Window: "none"},
		{Window: "main", Origin: remote}}
	decide := func() float64 {
		const rounds = 200_000
		allowed := 0
		start := harness.ProcessorTime()
		for range rounds {
			for _, command := range commands {
				for i := range callers {
					if policy.Allowed(command, callers[i]) {
						allowed++
					}
				}
			}
		}
		if allowed == 0 {
			harness.Check(errors.New("no call is allowed"))
		}
		n := float64(rounds * len(commands) * len(callers))
		return (harness.ProcessorTime() - start).Seconds() * 1e9 / n
	}
	h.Repeat(harness.Row{Name: "one access decision", Unit: "ns", Better: harness.Lower, Must: 200},
		decide)
}
