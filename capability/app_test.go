package capability

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability/internal/limit"
)

// files returns a file system with texts by their names.
func files(texts map[string]string) fstest.MapFS {
	fsys := make(fstest.MapFS)
	for name, text := range texts {
		fsys[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return fsys
}

func namesOf(docs []*Document) []string {
	names := []string{}
	for _, d := range docs {
		names = append(names, d.Name())
	}
	return names
}

const mainCapability = `{"identifier": "main", "windows": ["main"], "permissions": ["core:default"]}`

// wholeApp has everything that an application may have, in a workspace.
func wholeApp() fstest.MapFS {
	return files(map[string]string{
		"Cargo.lock": "[[package]]\nname = \"tauri\"\nversion = \"2.9.4\"\n\n" +
			"[[package]]\nname = \"tauri-plugin-store\"\nversion = \"2.0.1\"\n",
		"package.json":                                 `{"dependencies": {"@tauri-apps/api": "^2.1.0"}}`,
		"app/src-tauri/tauri.conf.json":                `{"app": {"security": {"capabilities": ["main"]}}}`,
		"app/src-tauri/tauri.windows.conf.json":        `{"app": {"security": {"capabilities": ["other"]}}}`,
		"app/src-tauri/capabilities/main.json":         mainCapability,
		"app/src-tauri/capabilities/more/other.toml":   "identifier = \"other\"\npermissions = []\n",
		"app/src-tauri/capabilities/schemas/x.json":    "skipped",
		"app/src-tauri/capabilities/node_modules/x.js": "skipped",
		"app/src-tauri/gen/schemas/acl-manifests.json": `{"pty": {"permissions": {"allow-open": {"commands": ` +
			`{"allow": ["open"]}}}}}`,
		"app/src-tauri/build.rs": `Attributes::new().plugin("notes", InlinedPlugin::new())`,
		"app/src-tauri/permissions/own.toml": "[[permission]]\nidentifier = \"allow-greet\"\n" +
			"commands.allow = [\"greet\"]\n",
		"app/src-tauri/permissions/notes/notes.toml": "[default]\npermissions = [\"allow-read\"]\n" +
			"[[permission]]\nidentifier = \"allow-read\"\n",
		"app/src-tauri/src/lib.rs": "#[tauri::command]\nfn greet() {}\n",
	})
}

func TestLoadAppNamesAMissingFolder(t *testing.T) {
	t.Parallel()
	_, err := LoadApp(os.DirFS(t.TempDir()+"/missing"), AppOptions{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "the application folder: ")
}

// The capability that the configuration lists may be in the file that cannot be read.
func TestUnreadableFileIsNotAMissingCapability(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{`{"identifier": "ma`: 0, `{"identifier": "x", "permissions": []}`: 1} {
		a, err := LoadApp(files(map[string]string{"capabilities/main.json": text,
			"tauri.conf.json": `{"app": {"security": {"capabilities": ["main"]}}}`}), AppOptions{})
		require.NoError(t, err)
		_, found := a.Capabilities("")
		require.Equal(t, want, strings.Count(fmt.Sprint(found), "which no file defines"), found)
		require.Equal(t, want == 0, a.Err("") != nil)
	}
}

func TestLoadAppFindsEverything(t *testing.T) {
	t.Parallel()
	a, err := LoadApp(wholeApp(), AppOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"app/src-tauri/capabilities/main.json", "app/src-tauri/capabilities/more/other.toml"},
		namesOf(a.Documents))
	require.Equal(t, "app/src-tauri/tauri.conf.json", a.Config.Name())
	require.Equal(t, []string{"app/src-tauri/capabilities/main.json", "app/src-tauri/capabilities/more/other.toml",
		"app/src-tauri/tauri.conf.json", "app/src-tauri/tauri.windows.conf.json"}, namesOf(a.Files()))
	require.True(t, a.Manifests.Whole())
	require.NotNil(t, a.Manifests.Get("pty").Permissions["allow-open"])
	require.NotNil(t, a.Manifests.Get(AppManifest).Permissions["allow-greet"])
	require.Nil(t, a.Manifests.Get(AppManifest).Default, "that of the plugin is not the application's")
	require.NotNil(t, a.Manifests.Get("notes").Default)
	require.Equal(t, Version{2, 9, 4}, a.Version, "the lock file comes before package.json")
	require.Equal(t, map[string]Version{"store": {2, 0, 1}}, a.PluginVersions)
	require.NotNil(t, a.Manifests.Get("store").Permissions["allow-create-store"], "a name of that version")
	require.Empty(t, a.ManifestProblems)
	require.NoError(t, a.Err(""))

	for platform, want := range map[Platform]string{"": "main", Linux: "main", Windows: "other"} {
		active, _ := a.Capabilities(platform)
		require.Len(t, active, 1)
		require.Equal(t, want, active[0].Identifier, platform)
	}
	policy, found := a.Resolve(ResolveOptions{})
	require.NoError(t, found.Err())
	require.True(t, policy.Allowed(cmd("plugin:window|title"), Caller{Window: "main"}))
	require.False(t, policy.Allowed(cmd("greet"), Caller{Window: "main"}), "the application has a manifest")
}

// An application with nothing but capabilities, by each way to name it.
func TestLoadAppBySmallestForm(t *testing.T) {
	t.Parallel()
	for dir, o := range map[string]AppOptions{
		".": {}, "src-tauri": {}, "a/b": {Dir: "./a/b/"}, "c": {Dir: "c", Files: []string{"c/capabilities/main.json"}},
		"loose": {Files: []string{"loose/capabilities/main.json"}},
	} {
		fsys := files(map[string]string{dir + "/capabilities/main.json": mainCapability, dir + "/src/x.rs": ""})
		if dir == "." {
			fsys = files(map[string]string{"capabilities/main.json": mainCapability})
		}
		a, err := LoadApp(fsys, o)
		require.NoError(t, err, dir)
		require.Len(t, a.Documents, 1, dir)
		require.Nil(t, a.Config)
		require.False(t, a.Manifests.Whole())
		require.Equal(t, Version{}, a.Version)
		require.Len(t, a.Files(), 1)
	}
	a, err := LoadApp(files(map[string]string{"x/Tauri.toml": ""}), AppOptions{Name: strings.ToUpper})
	require.NoError(t, err)
	require.Empty(t, a.Documents, "a configuration is enough")
	require.Equal(t, "X/TAURI.TOML", a.Config.Name())
}

// A build script may name another folder, inside of the application.
func TestCapabilitiesInAnotherFolder(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{"./src/capabilities/**/*": "src/capabilities/x.json",
		"grants/**/*": "grants/x.json", "./capabilities/**/*": "capabilities/x.json",
		"./capabilities/*.json": "capabilities/x.json", "../**/*": "capabilities/x.json",
		"grants/**/*\") } else { tauri_build::build(); f(\"": "capabilities/x.json"} {
		a, err := LoadApp(files(map[string]string{"tauri.conf.json": "{}", "capabilities/x.json": mainCapability,
			"src/capabilities/x.json": mainCapability, "grants/x.json": mainCapability,
			"build.rs": "// .capabilities_path_pattern(\"x/**/*\")\nAttributes::new()\n.capabilities_path_pattern(\"" +
				pattern + "\")"}), AppOptions{})
		require.NoError(t, err)
		require.Equal(t, []string{want}, namesOf(a.Documents), pattern)
	}
}

func TestLoadAppRefusesWithAReason(t *testing.T) {
	t.Parallel()
	large := &fstest.MapFile{Data: make([]byte, 24<<20), Mode: 0o644}
	app := func(more fstest.MapFS) fstest.MapFS {
		more["tauri.conf.json"] = &fstest.MapFile{Data: []byte("{}"), Mode: 0o644}
		return more
	}
	many := make(fstest.MapFS)
	for i := range limit.Files + 1 {
		many[fmt.Sprintf("capabilities/%d.txt", i)] = &fstest.MapFile{Mode: 0o644}
	}
	for name, c := range map[string]struct {
		fsys fs.FS
		o    AppOptions
		want string
	}{
		"no file system": {nil, AppOptions{}, "LoadApp needs a file system"},
		"no application": {files(map[string]string{"x.json": mainCapability}), AppOptions{},
			"there is no application"},
		"no application in Dir": {wholeApp(), AppOptions{Dir: "app"}, "app is not an application"},
		"Dir with a slash":      {wholeApp(), AppOptions{Dir: "/x", Files: []string{"Cargo.lock"}}, `"/x" is not in `},
		"several applications": {files(map[string]string{"a/Tauri.toml": "", "b/tauri.conf.json5": ""}), AppOptions{},
			"there are 2 applications; set Dir to one of them: a, b"},
		"a file that does not exist": {wholeApp(), AppOptions{Files: []string{"x.json"}},
			"x.json: file does not exist"},
		"a device": {app(fstest.MapFS{"capabilities/x.json": &fstest.MapFile{Mode: fs.ModeDevice}}), AppOptions{},
			"capabilities/x.json is not a regular file"},
		"a file too large": {app(fstest.MapFS{"gen/schemas/acl-manifests.json": &fstest.MapFile{
			Data: make([]byte, limit.Bytes+1), Mode: 0o644}}), AppOptions{}, "at most 67108864 are read"},
		"files too large": {app(fstest.MapFS{"capabilities/a.json": large, "capabilities/b.json": large,
			"capabilities/c.json": large}), AppOptions{}, "more than 67108864 bytes"},
		"too much to search": {app(many), AppOptions{},
			"capabilities contains more than 100000 files and folders"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := LoadApp(c.fsys, c.o)
			require.ErrorContains(t, err, c.want)
			require.Nil(t, a)
		})
	}
}

// What the files say wrong is reported by checking, and keeps the rest from being decided.
func TestAppErrIsWhatFilesSay(t *testing.T) {
	t.Parallel()
	for file, text := range map[string]string{
		"capabilities/main.json": `{"identifier": 5}`, "tauri.conf.json": `{"app": `,
		"permissions/x.toml": "permission = 5\n", "gen/schemas/acl-manifests.json": "[]",
		"tauri.linux.conf.json": `{"app": {"security": {"capabilities": [{}]}}}`,
	} {
		fsys := files(map[string]string{"tauri.conf.json": "{}", "capabilities/main.json": mainCapability})
		fsys[file] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
		a, err := LoadApp(fsys, AppOptions{})
		require.NoError(t, err, file)
		require.Regexp(t, "^"+file+":.*: error: ", a.Err(Linux))
		if file == "tauri.linux.conf.json" {
			require.NoError(t, a.Err(Windows))
		}
	}
}

func TestLockedVersions(t *testing.T) {
	t.Parallel()
	versions, ownPlugins := lockedVersions("[[package]]\r\nname = \"tauri\"\r\nversion = \"2.1.0\"\r\n" +
		"[[package]]\nname = \"tauri-plugin-fs\"\nsource = \"x\"\nversion = \"2.0.0\"\n" +
		"[[package]]\nname = \"serde\"\nversion = \"1.0.0\"\n" +
		"[[package]]\nname = \"tauri-plugin-os\"\nversion = \"x\"\nsource = \"x\"\n" +
		"[[package]]\nname = \"tauri-plugin-http\"\nversion = \"2.0.0-rc.4\"\nsource = \"x\"\n")
	require.False(t, ownPlugins)
	require.Equal(t, map[string]Version{"tauri": {2, 1, 0}, "tauri-plugin-http": {2, 0, 0}, "serde": {1, 0, 0}},
		versions)
}

// Cargo looks for its files up to the root, and a range of npm is no release.
func TestReleaseIsFoundUpToTheRoot(t *testing.T) {
	t.Parallel()
	const lock = "[[package]]\nname = \"tauri\"\nversion = \"2.9.2\"\n"
	old := strings.Replace(lock, "2.9.2", "2.1.0", 1) // of the time before there was a workspace
	for name, c := range map[string]struct {
		more map[string]string
		want Version
	}{
		"lock at the top": {map[string]string{"Cargo.lock": lock,
			"a/b/c/package.json": `{"dependencies": {"@tauri-apps/api": "2.1.1"}}`}, Version{2, 9, 2}},
		"lock of something else": {map[string]string{
			"a/Cargo.lock": "[[package]]\nname = \"x\"\nversion = \"1.0.0\"\n",
			"Cargo.lock":   lock}, Version{2, 9, 2}},
		"lock of the workspace": {map[string]string{"a/b/Cargo.lock": old, "Cargo.lock": lock,
			"Cargo.toml": "[workspace]\n"}, Version{2, 9, 2}},
		"lock beside the workspace": {map[string]string{"a/b/Cargo.lock": old, "Cargo.lock": lock,
			"Cargo.toml": "[workspace]\nmembers = [\"b\"]\nexclude = [\n\"x\", \"a/b/\"]\n"}, Version{2, 1, 0}},
		"workspace that excludes another": {map[string]string{"a/b/Cargo.lock": old, "Cargo.lock": lock,
			"Cargo.toml": "[workspace]\nexclude = [\"a/b/c/src\"]\n"}, Version{2, 9, 2}},
		"workspace in another": {map[string]string{"a/b/Cargo.lock": old, "Cargo.lock": lock,
			"a/b/Cargo.toml": "[workspace]\n", "Cargo.toml": "[workspace]\n"}, Version{2, 1, 0}},
		"another repository around": {map[string]string{"Cargo.lock": lock, "a/.git": "x"}, Version{}},
		"exact npm release": {
			map[string]string{"package.json": `{"x": {"@tauri-apps/api": "2.1.1"}}`}, Version{2, 1, 1}},
		"range": {
			map[string]string{"package.json": `{"x": {"@tauri-apps/api": "~2.1.1"}}`}, Version{}},
		"range without digits": {
			map[string]string{"package.json": `{"x": {"@tauri-apps/api": "2.1"}}`}, Version{}},
	} {
		c.more["a/b/c/src-tauri/tauri.conf.json"] = "{}"
		a, err := LoadApp(files(c.more), AppOptions{})
		require.NoError(t, err, name)
		require.Equal(t, c.want, a.Version, name)
	}
}

// The commands that a build script lists make them subject to capabilities before anything is
// built.
func TestCommandsInTheBuildScriptCount(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]struct{ checked, known bool }{
		`Attributes::new().app_manifest(tauri_build::AppManifest::new().commands(&["greet", "log"]))`: {true, true},
		"AppManifest::default().commands(&[\"greet\"])":                                               {true, true},
		"AppManifest::new()\n.permissions_path_pattern(\"x\")\n.commands(&[ // names\n\"greet\"])":    {true, true},
		"const NAMES: &[&str] = &[\"greet\"];\nAppManifest::new().commands(NAMES)":                    {true, true},
		"AppManifest::new().commands(&names())":                                                       {true, false},
		"AppManifest::new().commands(&[\"log\", #[cfg(desktop)] \"greet\"])":                          {true, false},
		`.plugin("x", InlinedPlugin::new().commands(&["ping"]))`:                                      {false, false},
		`// AppManifest::new().commands(&["greet"])` + "\nfn main(){}":                                {false, false},
	} {
		a, err := LoadApp(files(map[string]string{"tauri.conf.json": "{}", "build.rs": script,
			"capabilities/main.json": mainCapability}), AppOptions{})
		require.NoError(t, err)
		p, _ := a.Resolve(ResolveOptions{})
		require.Equal(t, want.checked, p.AppChecked(), script)
		require.Equal(t, !want.checked, p.Allowed(cmd("greet"), Caller{Window: "main"}), script)
		if want.known {
			require.NotNil(t, a.Manifests.Get(AppManifest).Permissions["allow-greet"], script)
		}
	}
}

// A list of which a part is not known does not make mistakes of the others, whether it was built or
// not.
func TestCommandsThatMayNotBeAll(t *testing.T) {
	t.Parallel()
	const one = "const A: &[&str] = &[\"log\"];\n"
	const many = 18_000 // takes an hour if each looks at the rest of the script
	for script, whole := range map[string]bool{
		`AppManifest::new().commands(&["log", OTHER])`:                                   false,
		`AppManifest::new().commands(&["log"])`:                                          true,
		one + "const A: &[&str] = &[\"greet\"];AppManifest::new().commands(A)":           false,
		"const A: &[&str] = OTHER;\n" + one + "AppManifest::new().commands(A)":           false,
		`.plugin("x", InlinedPlugin::new().commands(&["log", #[cfg(desktop)] "greet"]))`: false,
		`.plugin("x", InlinedPlugin::new().commands(&["log", OTHER]))`:                   false,
		`.plugin("x", InlinedPlugin::new().commands(&["log"]))`:                          true,
		`.plugin("x", InlinedPlugin::new().commands(&["log"])).plugin("x", other())`:     false,
		strings.Repeat(`.plugin("x",InlinedPlugin::new().commands([`, many):              false,
		strings.Repeat(`.plugin("x",InlinedPlugin::new().commands(A))`, many) + one:      false,
		strings.Repeat("const A: &[&str] = [", many):                                     false,
	} {
		own := strings.Contains(script, "AppManifest")
		permission := map[bool]string{true: "allow-greet", false: "x:allow-greet"}[own]
		fsys := files(map[string]string{"tauri.conf.json": "{}", "build.rs": script,
			"capabilities/main.json": strings.Replace(mainCapability, "core:default", permission, 1)})
		a, err := LoadApp(fsys, AppOptions{})
		require.NoError(t, err)
		_, found := a.Resolve(ResolveOptions{})
		require.Equal(t, whole, found.HasErrors(), "%.200s: %v", script, found)
		fsys["gen/schemas/acl-manifests.json"] = &fstest.MapFile{Data: []byte(`{"__app-acl__": {"permissions": ` +
			`{"allow-greet": {}}}, "x": {"permissions": {"allow-greet": {}}}}`), Mode: 0o644}
		a, err = LoadApp(fsys, AppOptions{})
		require.NoError(t, err)
		_, found = a.Resolve(ResolveOptions{})
		require.False(t, found.HasErrors(), "%.200s: %v", script, found)
	}
}

// What the application's own files say counts for more than a build, which may be older.
func TestOwnPermissionsMayBeNewerThanTheBuild(t *testing.T) {
	t.Parallel()
	const own = "[[permission]]\nidentifier = \"allow-log\"\ncommands.allow = [\"greet\"]\n"
	for _, c := range []struct{ file, text, permission string }{
		{"build.rs", `AppManifest::new().commands(&["greet", "log"])`, "allow-greet"},
		{"build.rs", "fn main() { tauri_build::build() }", "core:default"},
		{"permissions/x.toml", own, "allow-log"},
	} {
		a, err := LoadApp(files(map[string]string{"tauri.conf.json": "{}", c.file: c.text,
			"gen/schemas/acl-manifests.json": `{"__app-acl__":{"permissions":{"allow-log":{"commands":{` +
				`"allow":["log"]}}}}}`,
			"capabilities/main.json": strings.Replace(mainCapability, "core:default", c.permission, 1)}), AppOptions{})
		require.NoError(t, err)
		p, _ := a.Resolve(ResolveOptions{})
		require.True(t, p.Allowed(cmd("greet"), Caller{Window: "main"}), c.text)
	}
}

// A build script without AppManifest may still make a manifest, in another file.
func TestOwnPermissionsWithoutAManifest(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]bool{
		"fn main() { tauri_build::build() }":                              true,
		"tauri_build::try_build(tauri_build::Attributes::new()).unwrap()": true,
		"tauri_build::try_build(Attributes::default())":                   true,
		"try_build(\n\tAttributes::new().plugin(\"x\", own()))":           true,
		"tauri_build::try_build(acl::attributes())":                       false,
		"tauri_build::try_build(my_build::extend(Attributes::new()))":     false,
		"mod acl; tauri_build::try_build(acl::add(Attributes::new()))":    false,
		"include!(\"acl.rs\"); with(tauri_build::Attributes::new())":      false,
		"Attributes::new().app_manifest(tauri_build::AppManifest::new())": false,
		"Attributes::new().app_manifest(helper::own())":                   false,
		"": false,
	} {
		a, err := LoadApp(files(map[string]string{"tauri.conf.json": "{}", "build.rs": script,
			"capabilities/main.json": strings.Replace(mainCapability, "core:default", "allow-greet", 1)}),
			AppOptions{})
		require.NoError(t, err)
		_, found := a.Resolve(ResolveOptions{})
		require.Equal(t, want, found.HasErrors(), "%s: %v", script, found)
	}
}

// Files that define nothing, such as tables with the names of permissions, make no manifest either.
func TestOwnPermissionsThatDefineNothing(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"[\"core:default\"]\ndescription = \"x\"\n": false,
		"[default]\npermissions = []\n": true, "[[permission]\n": true} {
		a, err := LoadApp(files(map[string]string{"tauri.conf.json": "{}", "permissions/default.toml": text,
			"capabilities/main.json": mainCapability}), AppOptions{})
		require.NoError(t, err)
		p, _ := a.Resolve(ResolveOptions{})
		require.Equal(t, want, p.AppChecked(), text)
		require.Equal(t, !want, p.Allowed(cmd("greet"), Caller{Window: "main"}), text)
	}
}

// Cargo.lock does not tell how a plugin of the repository itself calls itself.
func TestPluginOfTheRepository(t *testing.T) {
	t.Parallel()
	for permission, want := range map[string]string{"notes:default": "(unchecked-plugin)",
		"fs:default": "(unknown-plugin)"} {
		a, err := LoadApp(files(map[string]string{"tauri.conf.json": "{}", "Cargo.lock": "[[package]]\n" +
			"name = \"tauri\"\nversion = \"2.9.0\"\n[[package]]\nname = \"tauri-plugin-own\"\nversion = \"0.1.0\"\n",
			"capabilities/main.json": strings.Replace(mainCapability, "core:default", permission, 1)}), AppOptions{})
		require.NoError(t, err)
		_, found := a.Resolve(ResolveOptions{})
		require.Contains(t, fmt.Sprint(found), want)
	}
}

// Without the Cargo feature the build ignores JSON5; with it the configuration may have comments.
func TestJSON5IsAFeatureOfTheBuild(t *testing.T) {
	t.Parallel()
	for cargo, want := range map[string]int{`tauri-build = { version = "2", features = ["config-json5"] }`: 1,
		`tauri-build = "2" # or "config-json5"`: 0, "": 1} {
		fsys := files(map[string]string{"capabilities/main.json5": mainCapability, "tauri.conf.json": "{ // x\n}"})
		if cargo != "" {
			fsys["Cargo.toml"] = &fstest.MapFile{Data: []byte(cargo), Mode: 0o644}
		}
		a, err := LoadApp(fsys, AppOptions{})
		require.NoError(t, err)
		active, _ := a.Capabilities("")
		require.Len(t, active, want, cargo)
		require.Equal(t, strings.Contains(cargo, "features"), !a.Config.Check().HasErrors(), cargo)
	}
}

// Null in the configuration of a platform removes the list of the other one.
func TestNullRemovesTheListOnAPlatform(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{`{"app": {"security": {"capabilities": null}}}`: 2,
		`{"app": {"security": null}}`: 2, `{"app": {"security": {}}}`: 1} {
		a, err := LoadApp(files(map[string]string{"capabilities/main.json": mainCapability,
			"capabilities/x.json":     strings.Replace(mainCapability, "main", "x", 1),
			"tauri.conf.json":         `{"app": {"security": {"capabilities": ["main"]}}}`,
			"tauri.windows.conf.json": text}), AppOptions{})
		require.NoError(t, err)
		active, found := a.Capabilities(Windows)
		require.Len(t, active, want, text)
		require.False(t, found.HasErrors(), found)
		active, _ = a.Capabilities(Linux)
		require.Len(t, active, 1)
	}
	a := &App{Config: ParseValue([]byte(`{"app": {"security": {"capabilities": null}}}`), Options{})}
	_, found := a.Capabilities(Windows)
	require.True(t, found.HasErrors(), "in the configuration itself it is refused")
}

// A plugin that Cargo.lock lacks fails the build, as does a near miss of a name in any release.
func TestReferencesThatFailTheBuild(t *testing.T) {
	t.Parallel()
	const lock = "[[package]]\nname = \"tauri\"\nversion = \"2.99.0\"\n[[package]]\nname = \"tauri-plugin-fs\"\n" +
		"version = \"2.99.0\"\nsource = \"x\"\n[[package]]\nname = \"log\"\nversion = \"0.4.0\"\n" +
		"[[package]]\nname = \"own\"\nversion = \"0.1.0\"\n"
	for permission, want := range map[string]string{
		"fs:default": "", "fs:allow-raed-file": "did you mean \"fs:allow-read-file\"",
		"own:default":                  "(unchecked-plugin)",
		"fs:allow-something-quite-new": "(newer-permission)",
		"core:app:allow-vesion":        "did you mean \"core:app:allow-version\"",
		"http:default":                 "Cargo.lock has no package tauri-plugin-http",
		"log:default":                  "Cargo.lock has no package",
		"pty:default":                  "Cargo.lock has no package tauri-plugin-pty",
		"notes:default":                "(unchecked-plugin)",
		"menu:allow-show-all":          "",
		"menu:default":                 "",
		"menus:allow-show-all":         "did you mean \"menu:allow-show-all\"",
		"more:allow-show":              "(unchecked-plugin)",
		"window:default":               "write \"core:window:default\"",
		"allow-greet":                  "application itself, which has no manifest",
		"fss:default":                  "did you mean \"fs:default\"",
		"Core:default":                 "did you mean \"core:default\"",
		"htp:default":                  "Cargo.lock has no package",
	} {
		a, err := LoadApp(files(map[string]string{"tauri.conf.json": "{}", "Cargo.lock": lock,
			"build.rs": `const MENU: &[&str] = &["hide", "show_all"];
				try_build(Attributes::new().plugin("notes", InlinedPlugin::new()).plugin("menu",
				tauri_build::InlinedPlugin::new().commands(MENU),
			).plugin("more", InlinedPlugin::new().commands(&["show"]).default_permission(rule()))`,
			"capabilities/main.json": strings.Replace(mainCapability, "core:default", permission, 1)}), AppOptions{})
		require.NoError(t, err)
		_, found := a.Resolve(ResolveOptions{})
		require.Contains(t, fmt.Sprint(found), want, permission)
		require.Equal(t, want != "", len(found) > 0, "%v", found)
		require.Equal(t, want != "" && !strings.HasPrefix(want, "("), found.HasErrors(), "%v", found)
	}
}

// A build that is older than Cargo.lock, or for another platform, is told from an absent plugin.
func TestPluginThatTheBuildLacks(t *testing.T) {
	t.Parallel()
	a, err := LoadApp(files(map[string]string{"tauri.conf.json": "{}", "gen/schemas/acl-manifests.json": "{}",
		"Cargo.lock": "[[package]]\nname = \"tauri\"\nversion = \"2.9.0\"\n[[package]]\nname = " +
			"\"tauri-plugin-pty\"\nversion = \"1.0.0\"\n",
		"capabilities/main.json": strings.Replace(mainCapability, "core:default", "pty:default", 1)}), AppOptions{})
	require.NoError(t, err)
	_, found := a.Resolve(ResolveOptions{})
	require.ErrorContains(t, found.Err(), `no plugin "pty", which Cargo.lock has; build the application again`)
}

// An application of Tauri 1 is said to be one: nothing that is granted there is seen here.
func TestTheFirstVersionIsNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{`{"tauri": {"allowlist": {"all": true}}}`: true, `{"package": {}}`: false,
		`{"app": {}, "tauri": {}}`: false} {
		a, err := LoadApp(files(map[string]string{"tauri.conf.json": text}), AppOptions{})
		require.NoError(t, err)
		_, found := a.Resolve(ResolveOptions{})
		require.Equal(t, want, strings.Contains(fmt.Sprint(found), "an application of Tauri 1"), text)
		require.Equal(t, want, a.Err("") != nil, text)
	}
}
