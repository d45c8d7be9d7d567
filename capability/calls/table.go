package calls

import (
	_ "embed"
	"strings"
	"sync"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/script"
)

//go:embed calls.tsv
var tableText string

// table tells of the functions that the framework's packages export, and of the members of those.
type table struct {
	certain  map[script.Target][]capability.Command // that a function always calls
	callers  map[capability.Command][]script.Target // functions that may call it
	returned map[script.Target]script.Target        // instances of classes, the zero Target for others and modules
}

var packages = sync.OnceValue(func() *table {
	t := &table{make(map[script.Target][]capability.Command), make(map[capability.Command][]script.Target),
		make(map[script.Target]script.Target)}
	for line := range strings.Lines(tableText) {
		column := strings.Split(strings.TrimSpace(line), "\t")
		if len(column) != 4 {
			continue // a comment
		}
		f := script.Target{Spec: column[0], Name: column[1]}
		t.returned[f], t.returned[script.Target{Spec: f.Spec, Name: "*"}] = script.Target{}, script.Target{}
		if spec, class, ok := strings.Cut(column[2], "#"); ok {
			t.returned[f] = script.Target{Spec: spec, Name: class, Instance: true}
		}
		for name := range strings.SplitSeq(column[3], ",") {
			name, maybe := strings.CutSuffix(name, "?")
			command, _ := capability.ParseCommand(name) // - is no command
			t.callers[command] = append(t.callers[command], f)
			if !maybe && name != "-" {
				t.certain[f] = append(t.certain[f], command)
			}
		}
	}
	return t
})
