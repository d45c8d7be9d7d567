package capability

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Large files, made to be slow, are judged in a time that a
// service can bear.
func TestHostileFilesAreJudgedInTime(t *testing.T) {
	t.Parallel()
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
		"equal permissions":      repeat(head, func(int) string { return `"fs:x"` }, "]}"),
		"different permissions":  repeat(head, func(i int) string { return fmt.Sprintf(`"fs:x-%d"`, i) }, "]}"),
		"scopes of one":          repeat(head, func(i int) string { return fmt.Sprintf(`{"identifier":"core:default","allow":[%d]}`, i) }, "]}"),
		"one long scope":         repeat(head+`{"identifier":"core:default","allow":[`, func(i int) string { return fmt.Sprint(i) }, `],"deny":[5]}]}`),
		"keys":                   repeat(`{"identifier":"a","permissions":[],`, func(i int) string { return fmt.Sprintf(`"k%d":1`, i) }, "}"),
		"equal keys":             repeat(`{"identifier":"a","permissions":[],`, func(int) string { return `"windows":["m"]` }, "}"),
		"capabilities":           repeat("[", func(int) string { return `{"identifier":"a","permissions":["core:default"],"windows":["m"]}` }, "]"),
		"patterns":               repeat(`{"identifier":"a","permissions":["core:default"],"windows":[`, func(i int) string { return fmt.Sprintf(`"*a?%d*"`, i) }, "]}"),
		"URLs":                   repeat(`{"identifier":"a","permissions":["core:default"],"windows":["m"],"remote":{"urls":[`, func(i int) string { return fmt.Sprintf(`"https://a%d.*"`, i) }, "]}}"),
		"scopes of one and URLs": repeat(head, func(i int) string { return fmt.Sprintf(`{"identifier":"core:default","allow":[%d]}`, i) }, repeat(`],"remote":{"urls":[`, func(i int) string { return fmt.Sprintf(`"https://a%d.*"`, i) }, "]}}")),
		"bad patterns":           repeat(`{"identifier":"a","permissions":["core:default"],"windows":[`, func(int) string { return `"["` }, "]}"),
		"bad URLs":               repeat(`{"identifier":"a","permissions":["core:default"],"windows":["m"],"remote":{"urls":[`, func(int) string { return `"https://a:x"` }, "]}}"),
		"faults":                 repeat(head, func(int) string { return "5 5" }, "]}"),
		"unknown values":         repeat(head, func(int) string { return "x" }, "]}"),
		"unclosed":               strings.Repeat(`{"a":`, 1<<15),
		"comments":               strings.Repeat("//\n", 1<<16),
	} {
		start := time.Now()
		d := Parse([]byte(text), Options{})
		LintAll([]*Document{d}, CoreManifests(), LintOptions{})
		Diff(nil, d.Capabilities(), CoreManifests(), CoreManifests(), ResolveOptions{Platform: Linux})
		spent := time.Since(start)
		t.Logf("%s: %s", name, spent.Round(time.Millisecond))
		require.Less(t, spent, 20*time.Second, name)
	}
}

// What is too much to be resolved is refused, and grants nothing.
func TestTooManyGrantsAreNone(t *testing.T) {
	t.Parallel()
	list := func(n int, item string) string {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprintf(item, i))
		}
		return strings.Join(items, ",")
	}
	text := `{"identifier":"a","windows":["m"],"permissions":[` + list(200, `{"identifier":"core:default","allow":[%d]}`) + `],"remote":{"urls":[` + list(200, `"https://a%d.example"`) + `]}}`
	policy, found := Resolve(capabilities(t, text), CoreManifests(), ResolveOptions{})
	require.Len(t, found, 1)
	require.Equal(t, CodeTooLarge, found[0].Code)
	require.Equal(t, Error, found[0].Severity)
	require.False(t, policy.Allowed("plugin:app|version", Caller{Window: "m"}))
	require.False(t, policy.Allowed("greet", Caller{Window: "m"}))
	require.Empty(t, policy.Commands())
	changes := Diff(capabilities(t, text), capabilities(t, text), CoreManifests(), CoreManifests(), ResolveOptions{})
	require.Len(t, changes, 1)
	require.Equal(t, Incomparable, changes[0].Kind)
}
