package capability

import (
	"encoding/json"
	"os"
	"path/filepath"
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
		`{"identifier":"a","permissions":["x",{"identifier":"y","allow":[null,{"z":[1.5]}],"deny":null}],` +
			`"remote":null,"platforms":null}`,
		`{"identifier":"a","permissions":"x"}`, `{"permissions":[]}`, `[]`, `[{}]`, `{"capabilities":[]}`,
		`{"capabilities":[1]}`, `5`, `{}`,
		`{"identifier":"a","permissions":[],"platforms":["macos"]}`,
		`{"identifier":"a","permissions":[],"platforms":["macOS"]}`,
		`{"identifier":"a","permissions":[],"local":null}`, `{"identifier":"a","permissions":[],"remote":{}}`,
		`{"identifier":"a","permissions":[{}]}`,
		`{"identifier":"a","permissions":[],"capabilities":[{}]}`, `{"identifier":1,"capabilities":[]}`,
		`{"identifier":"a","permissions":[{"identifier":"x","allow":{}}]}`,
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
		`{"identifier":"a","permissions":["fs:read","core:default",` +
			`"core:app:allow-tauri-version"]}`: true,
		`{"identifier":"a","permissions":["os:default"]}`: false, // the plugin has no default set
		`{"identifier":"a",` +
			`"permissions":["fs:reed"]}`: false,
		`{"identifier":"a",` +
			`"permissions":[{"identifier":"nope:default"}]}`: false,
	} {
		file := Parse([]byte(in), Options{})
		require.Equal(t, want, accepts(t, d, file), in)
	}
}

// realManifests loads the manifests of a real project; it skips the test if there are none.
func realManifests(t testing.TB, name string) *Manifests {
	t.Helper()
	dir := os.Getenv("CAPABILITY_CORPUS")
	if dir == "" {
		t.Skip("CAPABILITY_CORPUS does not name a folder of real capability files")
	}
	text, err := os.ReadFile(filepath.Join(dir, "..", "manifests", name))
	require.NoError(t, err)
	m := CoreManifests()
	require.Empty(t, m.Load(name, text))
	return m
}

func TestProjectSchemaJudgesScopes(t *testing.T) {
	t.Parallel()
	judge := func(m *Manifests, files map[string]bool) {
		d := ParseValue(ProjectSchema(m), Options{MaxBytes: 1 << 24})
		require.Empty(t, d.Check(ModeSchema))
		for in, want := range files {
			file := Parse([]byte(`{"identifier":"a","permissions":[`+in+`]}`), Options{})
			require.Equal(t, want, accepts(t, d, file), in)
		}
	}
	judge(applicationManifests(t), map[string]bool{
		`{"identifier":"http:allow-fetch","allow":[{"url":"https://*"}]}`:           true,
		`{"identifier":"http:allow-fetch","allow":[{"uri":"https://*"}]}`:           false,
		`{"identifier":"fs:allow-exists","allow":["$APP/**",{"path":"x"}]}`:         true,
		`{"identifier":"fs:allow-exists","deny":[{"url":"x"}]}`:                     false,
		`{"identifier":"shell:allow-execute","allow":[{"name":"a","cmd":"a"}]}`:     true,
		`{"identifier":"shell:allow-execute","allow":[{"name":"a","command":"a"}]}`: false,
	})
	t.Run("real project", func(t *testing.T) {
		t.Parallel()
		m := realManifests(t, "HuLaSpark__HuLa.json")
		require.Greater(t, len(m.Identifiers()), 700)
		judge(m, map[string]bool{
			`{"identifier":"opener:allow-open-url","allow":[{"url":"https://*"}]}`: true,
			`{"identifier":"opener:allow-open-url","allow":[{"uri":"https://*"}]}`: false,
			`{"identifier":"fs:allow-exists","allow":["$APP/**",{"path":"x"}]}`:    true,
			`{"identifier":"fs:allow-exists","allow":[{"url":"x"}]}`:               false,
		})
	})
}
