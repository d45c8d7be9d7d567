// Package capability measures the reading, judging and resolving of capability files against
// encoding/json, which only reads them, and against two general validators with the format's JSON
// Schema: santhosh-tekuri/jsonschema in Go and ajv in node, whose compiled code is the fastest
// there is.
package capability

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"runtime"
	"syscall"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"lessonkit.example/capability"
	"lessonkit.example/capability/lint"
	"lessonkit.example/internal/bench/harness"
)

// turn is how long each side of a pair runs.
const turn = 300 * time.Millisecond

// Run measures all sets of files.
func Run(h *harness.Harness) error {
	all, err := sets()
	if err != nil {
		return err
	}
	for _, s := range all {
		if err := reading(h, s); err != nil {
			return err
		}
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
	start := processor()
	for processor()-start < turn {
		for _, f := range files {
			if err := do(f); err != nil {
				return 0, err
			}
		}
		n += len(files)
	}
	return (processor() - start).Seconds() / float64(n), nil
}

// processor returns the time that all processors spent on this process.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it fails for wrong arguments only
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// perSecond turns seconds per file into a rate.
func perSecond(seconds float64, err error) (float64, error) { return 1 / seconds, err }

func reading(h *harness.Harness, s set) error {
	ours := func() (float64, error) {
		seconds, err := each(s.files, func(f []byte) error {
			return judge(capability.Parse(f, capability.Options{}).Check(capability.ModeReference), s)
		})
		return seconds * 1e6, err
	}
	peer := func() (float64, error) {
		seconds, err := each(s.files, func(f []byte) error {
			var v any
			return json.Unmarshal(f, &v)
		})
		return seconds * 1e6, err
	}
	return h.Alternate(harness.Row{Name: s.name + ": parse and validate", Unit: "µs/file",
		PeerName: "encoding/json into any", Better: harness.Lower, Must: 1.5, Aim: 1.0}, ours, peer)
}

// judge uses the result, so that the compiler cannot remove the measured work. The reference
// implementation accepts every file of the sets.
func judge(ds capability.Diagnostics, s set) error {
	if ds.HasErrors() {
		return fmt.Errorf("%s: %s", s.name, ds[0])
	}
	return nil
}

// Compile reads a schema for the peer.
func compile(text []byte) (*jsonschema.Schema, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("capability.json", v); err != nil {
		return nil, err
	}
	return c.Compile("capability.json")
}

// schemaText is the JSON Schema (draft 07) of capability files.
//
//go:embed schema.json
var schemaText []byte

// projectSchema returns the schema with a project's identifiers, as the framework's build writes it.
func projectSchema(identifiers []string) ([]byte, error) {
	var schema map[string]any
	if err := json.Unmarshal(schemaText, &schema); err != nil {
		return nil, err
	}
	known := make([]any, len(identifiers))
	for i, identifier := range identifiers {
		known[i] = map[string]any{"type": "string", "const": identifier}
	}
	schema["definitions"].(map[string]any)["Identifier"] = map[string]any{"oneOf": known}
	return json.Marshal(schema)
}

func validators(h *harness.Harness, s set) error {
	generic, err := compile(schemaText)
	if err != nil {
		return err
	}
	projectText, err := projectSchema(s.manifests.Identifiers())
	if err != nil {
		return err
	}
	project, err := compile(projectText)
	if err != nil {
		return err
	}
	validate := func(schema *jsonschema.Schema) func() (float64, error) {
		return func() (float64, error) {
			return perSecond(each(s.files, func(f []byte) error {
				v, err := jsonschema.UnmarshalJSON(bytes.NewReader(f))
				if err != nil {
					return err
				}
				_ = schema.Validate(v)
				return nil
			}))
		}
	}
	plain := func() (float64, error) {
		return perSecond(each(s.files, func(f []byte) error {
			capability.Parse(f, capability.Options{}).Check(capability.ModeSchema)
			return nil
		}))
	}
	// What the identifiers and scopes of a project's schema add is a part of what lint.Check
	// reports.
	withProject := func() (float64, error) {
		return perSecond(each(s.files, func(f []byte) error {
			d := capability.Parse(f, capability.Options{})
			lint.Check([]*capability.Document{d}, s.manifests, lint.Options{})
			return nil
		}))
	}
	if err := h.Alternate(harness.Row{Name: s.name + ": plain schema", Unit: "files/s", PeerName: "santhosh-tekuri",
		Better: harness.Higher, Must: 4, Aim: 8}, plain, validate(generic)); err != nil {
		return err
	}
	name := fmt.Sprintf("%s: lint, or a schema with %d identifiers", s.name, len(s.manifests.Identifiers()))
	if err := h.Alternate(harness.Row{Name: name, Unit: "files/s", PeerName: "santhosh-tekuri", Better: harness.Higher,
		Must: 5, Aim: 10}, withProject, validate(project)); err != nil {
		return err
	}
	node, err := startNode(h, projectText, s.files)
	if err != nil {
		fmt.Fprintf(h.Log, "ajv is left out: %v\n", err)
		return nil
	}
	defer node.stop()
	return h.Alternate(harness.Row{Name: name, Unit: "files/s", PeerName: "ajv", Better: harness.Higher, Must: 2,
		Aim: 5}, withProject, node.measure)
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
	var policy *capability.Policy
	o := capability.ResolveOptions{Platform: capability.Linux, Partial: true}
	resolve := harness.Row{Name: fmt.Sprintf("%s: resolve %d capabilities", s.name, len(capabilities)), Unit: "ms",
		Better: harness.Lower, Must: 2, Aim: 0.5}
	for range h.Pairs {
		seconds, err := each([][]byte{nil}, func([]byte) error {
			policy, _ = capability.Resolve(capabilities, s.manifests, o)
			policy.Allowed("plugin:window|close", capability.Caller{Window: "main"}) // sorts the grants
			return nil
		})
		if err != nil {
			return err
		}
		resolve.Ours = append(resolve.Ours, seconds*1e3)
	}
	h.Add(resolve)

	remote, err := capability.ParseOrigin("https://app.example.com/page")
	if err != nil {
		return err
	}
	callers := []capability.Caller{{Window: "main"}, {Window: "settings-1"}, {Window: "none"},
		{Window: "main", Origin: remote}}
	commands := []string{"plugin:window|title", "plugin:event|emit_to", "plugin:window|destroy", "plugin:nope|x"}
	decide := harness.Row{Name: s.name + ": one access decision", Unit: "ns", Better: harness.Lower, Must: 200,
		Aim: 60}
	allocations := harness.Row{Name: s.name + ": allocations of a decision", Unit: "allocs", Better: harness.Lower,
		Must: 1e-3}
	for range h.Pairs {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		const rounds = 200_000
		allowed := 0
		start := processor()
		for range rounds {
			for _, command := range commands {
				for i := range callers {
					if policy.Allowed(command, callers[i]) {
						allowed++
					}
				}
			}
		}
		n := float64(rounds * len(commands) * len(callers))
		decide.Ours = append(decide.Ours, (processor()-start).Seconds()*1e9/n)
		runtime.ReadMemStats(&after)
		allocations.Ours = append(allocations.Ours, float64(after.Mallocs-before.Mallocs)/n)
		if allowed == 0 {
			return fmt.Errorf("%s: no call is allowed", s.name)
		}
	}
	h.Add(decide)
	h.Add(allocations)
	return nil
}
