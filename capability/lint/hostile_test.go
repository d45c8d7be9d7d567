package lint_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability"
	"lessonkit.example/capability/capdiff"
	"lessonkit.example/capability/lint"
)

// Large files, made to be slow, are judged with an effort that a service can bear. Allocated memory
// does not depend on what else the machine does; the time limit, many times what a case takes,
// catches what is slow without allocating. The test is not parallel, so all of the memory is its
// own.
func TestHostileFilesAreJudgedWithBoundedEffort(t *testing.T) {
	repeat := func(head string, item func(i int) string, tail string) string {
		var b strings.Builder
		b.WriteString(head)
		for i := 0; b.Len() < 1<<18; i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(item(i))
		}
		return b.String() + tail
	}
	const head = `{"identifier":"a","windows":["m"],"permissions":[`
	for name, text := range map[string]string{
		"equal permissions":     repeat(head, func(int) string { return `"fs:x"` }, "]}"),
		"different permissions": repeat(head, func(i int) string { return fmt.Sprintf(`"fs:x-%d"`, i) }, "]}"),
		"scopes of one": repeat(head,
			func(i int) string { return fmt.Sprintf(`{"identifier":"core:default","allow":[%d]}`, i) }, "]}"),
		"one long scope": repeat(head+`{"identifier":"core:default","allow":[`,
			func(i int) string { return fmt.Sprint(i) }, `],"deny":[5]}]}`),
		"keys": repeat(`{"identifier":"a","permissions":[],`,
			func(i int) string { return fmt.Sprintf(`"k%d":1`, i) }, "}"),
		"equal keys": repeat(`{"identifier":"a","permissions":[],`,
			func(int) string { return `"windows":["m"]` }, "}"),
		"capabilities": repeat("[",
			func(int) string { return `{"identifier":"a","permissions":["core:default"],"windows":["m"]}` }, "]"),
		"patterns": repeat(`{"identifier":"a","permissions":["core:default"],"windows":[`,
			func(i int) string { return fmt.Sprintf(`"*a?%d*"`, i) }, "]}"),
		"URLs": repeat(`{"identifier":"a","permissions":["core:default"],"windows":["m"],"remote":{"urls":[`,
			func(i int) string { return fmt.Sprintf(`"https://a%d.*"`, i) }, "]}}"),
		"scopes of one and URLs": repeat(head,
			func(i int) string { return fmt.Sprintf(`{"identifier":"core:default","allow":[%d]}`, i) },
			repeat(`],"remote":{"urls":[`, func(i int) string { return fmt.Sprintf(`"https://a%d.*"`, i) }, "]}}")),
		"bad patterns": repeat(`{"identifier":"a","permissions":["core:default"],"windows":[`,
			func(int) string { return `"["` }, "]}"),
		"bad URLs": repeat(`{"identifier":"a","permissions":["core:default"],"windows":["m"],"remote":{"urls":[`,
			func(int) string { return `"https://a:x"` }, "]}}"),
		"faults":         repeat(head, func(int) string { return "5 5" }, "]}"),
		"unknown values": repeat(head, func(int) string { return "x" }, "]}"),
		"unclosed":       strings.Repeat(`{"a":`, 1<<15),
		"comments":       strings.Repeat("//\n", 1<<16),
	} {
		var start, end runtime.MemStats
		runtime.ReadMemStats(&start)
		began := time.Now()
		d := capability.Parse([]byte(text), capability.Options{})
		core := capability.CoreManifests()
		lint.Check([]*capability.Document{d}, core, lint.Options{})
		before, after := capdiff.Side{Manifests: core}, capdiff.Side{Capabilities: d.Capabilities(), Manifests: core}
		capdiff.Compare(before, after, capability.ResolveOptions{Platform: capability.Linux})
		runtime.ReadMemStats(&end)
		spent := (end.TotalAlloc - start.TotalAlloc) >> 20
		t.Logf("%s: %d MiB allocated", name, spent)
		require.Less(t, spent, uint64(2048), name)
		require.Less(t, time.Since(began), time.Minute, name)
	}
}
