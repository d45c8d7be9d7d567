package capability

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// conforms is checked against vectors here and used below to judge by the
// schema itself.
func TestSchemaJudgesLikeModeSchema(t *testing.T) {
	t.Parallel()
	d := ParseValue(Schema(), Options{})
	require.Empty(t, d.Check(ModeSchema))
	for _, in := range []string{
		`{"identifier":"a","permissions":["x",{"identifier":"y","allow":[null,{"z":[1.5]}],"deny":null}],"remote":null,"platforms":null}`,
		`{"identifier":"a","permissions":"x"}`, `{"permissions":[]}`, `[]`, `[{}]`, `{"capabilities":[]}`, `{"capabilities":[1]}`, `5`, `{}`,
		`{"identifier":"a","permissions":[],"platforms":["macos"]}`, `{"identifier":"a","permissions":[],"platforms":["macOS"]}`,
		`{"identifier":"a","permissions":[],"local":null}`, `{"identifier":"a","permissions":[],"remote":{}}`, `{"identifier":"a","permissions":[{}]}`,
		`{"identifier":"a","permissions":[],"capabilities":[{}]}`, `{"identifier":1,"capabilities":[]}`, `{"identifier":"a","permissions":[{"identifier":"x","allow":{}}]}`,
	} {
		file := Parse([]byte(in), Options{})
		require.Equal(t, file.Check(ModeSchema).Worst() < Error, conforms(file.Root(), d.Root(), d.Root(), 0), in)
	}
}

func TestProjectSchemaKnowsIdentifiers(t *testing.T) {
	t.Parallel()
	m := plugins(t)
	d := ParseValue(ProjectSchema(m), Options{})
	require.Empty(t, d.Check(ModeSchema))
	for in, want := range map[string]bool{
		`{"identifier":"a","permissions":["fs:read","core:default","core:app:allow-tauri-version","os:default"]}`: true,
		`{"identifier":"a","permissions":["fs:reed"]}`:                                                            false,
		`{"identifier":"a","permissions":[{"identifier":"nope:default"}]}`:                                        false,
	} {
		file := Parse([]byte(in), Options{})
		require.Equal(t, want, conforms(file.Root(), d.Root(), d.Root(), 0), in)
		require.Equal(t, want, NewProject(m).Check(file).Worst() < Error, in)
		require.Equal(t, want, NewProject(m).Valid(file), in)
	}
}

// One text's memory is used again for the next, also by several goroutines:
// nothing of a text may show in the verdict about another.
func TestAcceptsJudgesAsValid(t *testing.T) {
	t.Parallel()
	p := NewProject(plugins(t))
	one := `{"identifier":"a","permissions":["fs:read",{"identifier":"core:default","allow":[1]}]}`
	texts := map[string]bool{
		one:                              true,
		"[" + one + "," + one + "]":      true,
		`{"capabilities":[` + one + `]}`: true,
		`{"identifier":"a","permissions":["core:default",{"identifier":"core:default","allow":["x"]}]}`: true,
		`{"identifier":"a\u0062","permissions":["core:d\u0065fault"]}`:                                  true,
		`{"identifier":"a","permissions":[]}`:                                                           true,
		`{"identifier":"a","permissions":["fs:read","fs:read"]}`:                                        false,
		`{"identifier":"a","permissions":["fs:reed"]}`:                                                  false,
		`{"identifier":"a","permissions":["fs:read",]}`:                                                 false,
		`[` + one + `,{}]`: false,
		`[` + one + `,`:    false,
		``:                 false,
		"\xff":             false,
		`5`:                false,
		`{"identifier":"a","permissions":["fs:read"],"x":[` + strings.Repeat(`"",`, 5000) + `1]}`: true,
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				for text, want := range texts {
					if p.Accepts([]byte(text), Options{}) != want || p.Valid(Parse([]byte(text), Options{})) != want {
						t.Errorf("%.80q is taken for what it is not", text)
					}
				}
			}
		})
	}
	wg.Wait()
}

// realManifests loads the manifests of a real project.
func realManifests(t testing.TB, name string) *Manifests {
	t.Helper()
	corpus(t, "*.json")
	text, err := os.ReadFile(filepath.Join(os.Getenv("CAPABILITY_CORPUS"), "..", "manifests", name))
	require.NoError(t, err)
	m := CoreManifests()
	require.Empty(t, m.Load(name, text))
	return m
}

func TestProjectSchemaOfARealProject(t *testing.T) {
	t.Parallel()
	m := realManifests(t, "HuLaSpark__HuLa.json")
	text := ProjectSchema(m)
	require.True(t, json.Valid(text))
	require.Greater(t, strings.Count(string(text), `"const"`), 700)
	d := ParseValue(text, Options{MaxBytes: 1 << 24})
	for in, want := range map[string]bool{
		`{"identifier":"opener:allow-open-url","allow":[{"url":"https://*"}]}`: true,
		`{"identifier":"opener:allow-open-url","allow":[{"uri":"https://*"}]}`: false,
		`{"identifier":"fs:allow-exists","allow":["$APP/**",{"path":"x"}]}`:    true,
		`{"identifier":"fs:allow-exists","allow":[{"url":"x"}]}`:               false,
	} {
		file := Parse([]byte(`{"identifier":"a","permissions":[`+in+`]}`), Options{})
		require.Equal(t, want, conforms(file.Root(), d.Root(), d.Root(), 0), in)
		require.Equal(t, want, NewProject(m).Check(file).Worst() < Error, in)
		require.Equal(t, want, NewProject(m).Valid(file), in)
	}
}
