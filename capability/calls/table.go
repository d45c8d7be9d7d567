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

// function is an export of the framework's packages, or a member of one.
type function struct {
	script.Target
	certain []capability.Command // that it always calls
}

// table has the functions by what they are, and by the commands that they may call.
type table struct {
	functions map[script.Target]*function
	returned  map[script.Target]script.Target // instances of classes, the zero Target of functions that return none
	callers   map[capability.Command][]*function
	plugins   map[string]bool // whose packages are known
}

var packages = sync.OnceValue(func() *table {
	t := &table{make(map[script.Target]*function), make(map[script.Target]script.Target),
		make(map[capability.Command][]*function), make(map[string]bool)}
	for line := range strings.Lines(tableText) {
		column := strings.Split(strings.TrimSpace(line), "\t")
		if len(column) != 4 {
			continue // a comment
		}
		f := &function{Target: script.Target{Spec: column[0], Name: column[1]}}
		t.functions[f.Target] = f
		t.plugins[strings.TrimPrefix(f.Spec, "@tauri-apps/plugin-")] = true
		t.returned[f.Target] = script.Target{}
		if spec, class, ok := strings.Cut(column[2], "#"); ok {
			t.returned[f.Target] = script.Target{Spec: spec, Name: class, Instance: true}
		}
		for name := range strings.SplitSeq(column[3], ",") {
			name, maybe := strings.CutSuffix(name, "?")
			command, _ := capability.ParseCommand(name) // - is no command
			t.callers[command] = append(t.callers[command], f)
			if !maybe && name != "-" {
				f.certain = append(f.certain, command)
			}
		}
	}
	return t
})
