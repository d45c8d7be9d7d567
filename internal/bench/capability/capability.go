// Package capability measures the checking of capability files against two general validators with
// the JSON Schema of the format, santhosh-tekuri/jsonschema in Go and ajv in node, whose compiled
// code is the fastest there is; and the time of resolving a project and of a decision about a call.
package capability

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
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

// Run measures all sets of files.
func Run(h *harness.Harness) error {
	all, err := sets()
	if err != nil {
		return err
	}
	for _, s := range all {
		if err := validators(h, s); err != nil {
			return err
		}
		if err := decisions(h, s); err != nil {
			return err
		}
	}
	return nil
}

// each runs do over the files for a while and returns the processor's seconds per file, collecting
// garbage included. Time on the clock would measure the machine's other work too.
func each(files [][]byte, do func([]byte) error) (float64, error) {
	runtime.GC()
	n := 0
	start := harness.ProcessorTime()
	for harness.ProcessorTime()-start < turn {
		for _, f := range files {
			if err := do(f); err != nil {
				return 0, err
			}
		}
		n += len(files)
	}
	return (harness.ProcessorTime() - start).Seconds() / float64(n), nil
}

// projectSchema returns the schema with the permission identifiers that the manifests contain.
func projectSchema(m *capability.Manifests) ([]byte, error) {
	type object = map[string]any
	var schema object
	if err := json.Unmarshal(genericSchema, &schema); err != nil {
		return nil, err
	}
	var known []object
	for _, id := range m.Identifiers() {
		known = append(known, object{"type": "string", "const": id, "description": m.Description(id)})
	}
	schema["definitions"].(object)["Identifier"] = object{"oneOf": known}
	return json.Marshal(schema)
}

// validate returns a measure of the files that the peer reads and validates in a second.
func validate(s set, schema []byte) (func() (float64, error), error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("capability.json", v); err != nil {
		return nil, err
	}
	compiled, err := c.Compile("capability.json")
	if err != nil {
		return nil, err
	}
	return func() (float64, error) {
		seconds, err := each(s.files, func(f []byte) error {
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(f))
			if err == nil {
				_ = compiled.Validate(v)
			}
			return err
		})
		return 1 / seconds, err
	}, nil
}

func validators(h *harness.Harness, s set) error {
	generic, err := validate(s, genericSchema)
	if err != nil {
		return err
	}
	text, err := projectSchema(s.manifests)
	if err != nil {
		return err
	}
	project, err := validate(s, text)
	if err != nil {
		return err
	}
	plain := func() (float64, error) {
		seconds, err := each(s.files, func(f []byte) error {
			capability.Parse(f, capability.Options{}).Check()
			return nil
		})
		return 1 / seconds, err
	}
	// What the identifiers of a project's schema add is a part of what lint.Check reports.
	linted := func() (float64, error) {
		seconds, err := each(s.files, func(f []byte) error {
			d := capability.Parse(f, capability.Options{})
			lint.Check([]*capability.Document{d}, s.manifests, lint.Options{})
			return nil
		})
		return 1 / seconds, err
	}
	row := harness.Row{Name: s.name + ": plain schema", Unit: "files/s", PeerName: "santhosh-tekuri", Must: 4}
	if err := h.Alternate(row, plain, generic); err != nil {
		return err
	}
	row.Name, row.Must = fmt.Sprintf("%s: lint, or a schema with %d identifiers", s.name,
		len(s.manifests.Identifiers())), 5
	if err := h.Alternate(row, linted, project); err != nil {
		return err
	}
	ajv, err := startNode(h, text, s.files)
	if err != nil {
		fmt.Fprintf(h.Log, "ajv is left out: %v\n", err)
		return nil
	}
	row.PeerName, row.Must = "ajv", 2
	return h.Alternate(row, linted, ajv)
}

// decisions measures resolving a project of 30 capabilities with the first decision, and deciding
// about calls by it.
func decisions(h *harness.Harness, s set) error {
	var capabilities []capability.Capability
	for i, f := range s.files {
		for _, c := range capability.Parse(f, capability.Options{}).Capabilities() {
			c.Identifier = fmt.Sprintf("%s-%d", c.Identifier, i)
			capabilities = append(capabilities, c)
		}
		if len(capabilities) >= 30 {
			break
		}
	}
	commands := make([]capability.Command, 4)
	for i, text := range []string{"plugin:window|title", "plugin:event|emit_to", "plugin:window|destroy", "plugin:x|y"} {
		command, err := capability.ParseCommand(text)
		if err != nil {
			return err
		}
		commands[i] = command
	}
	var policy *capability.Policy
	err := h.Repeat(harness.Row{
		Name: fmt.Sprintf("%s: resolve %d capabilities", s.name, len(capabilities)), Unit: "ms",
		Better: harness.Lower, Must: 2,
	}, func() (float64, error) {
		seconds, err := each([][]byte{nil}, func([]byte) error {
			policy, _ = capability.Resolve(capabilities, s.manifests,
				capability.ResolveOptions{Platform: capability.Linux, Partial: true})
			policy.Allowed(commands[0], capability.Caller{Window: "main"}) // sorts the grants
			return nil
		})
		return seconds * 1e3, err
	})
	if err != nil {
		return err
	}
	remote, err := capability.ParseOrigin("https://app.example.com/page")
	if err != nil {
		return err
	}
	callers := []capability.Caller{{Window: "main"}, {Window: "settings-1"}, {Window: "none"},
		{Window: "main", Origin: remote}}
	decide := func() (float64, error) {
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
			return 0, fmt.Errorf("%s: no call is allowed", s.name)
		}
		n := float64(rounds * len(commands) * len(callers))
		return (harness.ProcessorTime() - start).Seconds() * 1e9 / n, nil
	}
	return h.Repeat(harness.Row{Name: s.name + ": one access decision", Unit: "ns", Better: harness.Lower, Must: 200},
		decide)
}
