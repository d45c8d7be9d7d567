package capability

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Documents and policies are safe for concurrent use, as
// the race detector proves.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	d := Parse([]byte(`{"identifier":"a","windows":"m","permissions":["core:default","core:default","a_b"],`+
		`"remote":{"urls":["https://*.x.dev","https://a.dev/\\?q"]}}`), Options{})
	m := CoreManifests()
	p, _ := Resolve(d.Capabilities(), m, ResolveOptions{})
	remote := origin(t, "https://a.x.dev/")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if len(d.Check()) != 3 || d.Root().Get("permissions").Item(1).Position().Line != 1 {
					t.Error("other diagnostics than before")
				}
				p.Allowed(cmd("plugin:window|title"), Caller{Window: "m", Origin: remote})
				_ = p.Explain(cmd("plugin:window|title"), Caller{Window: "x"}).String()
			}
		})
	}
	wg.Wait()
}

// A permission file may be loaded several times and at once: what is found in
// it is not added to it.
func TestLoadPermissionsLeavesTheDocumentAlone(t *testing.T) {
	t.Parallel()
	d := ParseValue([]byte(`{"default":{"permissions":[1]},"permision":[],"permission":[{}],}`), Options{})
	own := d.Check()
	first := new(Manifests).LoadPermissions("x", d)
	require.Len(t, first, len(own)+3)
	var wg sync.WaitGroup
	again := make([]Diagnostics, 8)
	for i := range again {
		wg.Go(func() { again[i] = new(Manifests).LoadPermissions("x", d) })
	}
	wg.Wait()
	for _, found := range again {
		require.Equal(t, first, found)
	}
	require.Equal(t, own, d.Check())
}
