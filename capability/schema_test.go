package capability

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
)

// accepts judges a file by a schema with a library.
func accepts(t *testing.T, schema, file *Document) bool {
	t.Helper()
	s := new(jsonschema.Schema)
	require.NoError(t, json.Unmarshal([]byte(schema.Source()), s))
	resolved, err := s.Resolve(nil)
	require.NoError(t, err)
	return resolved.Validate(file.Root().Interface()) == nil
}

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
		require.Equal(t, !file.Check(ModeSchema).HasErrors(), accepts(t, d, file), in)
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
		require.Equal(t, want, accepts(t, d, file), in)
	}
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
		require.Equal(t, want, accepts(t, d, file), in)
	}
}
