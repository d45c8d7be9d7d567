package calls_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability"
	"lessonkit.example/capability/calls"
	"lessonkit.example/internal/longtest"
)

// frontend returns an application with files beside its capability "main", which grants the core's
// default commands of windows and events.
func frontend(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	all := map[string]string{
		"src-tauri/tauri.conf.json": `{"identifier": "com.example.app"}`,
		"src-tauri/capabilities/main.json": `{"identifier": "main", "windows": ["main"],
  "permissions": ["core:window:default", "core:event:default"]}`,
		"package.json": `{}`,
	}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		if text != "" {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return fsys
}

func load(t testing.TB, fsys fstest.MapFS) (*capability.App, *calls.Frontend) {
	t.Helper()
	app, err := capability.LoadApp(fsys, capability.AppOptions{Dir: "src-tauri"})
	require.NoError(t, err)
	f, err := calls.Read(context.Background(), fsys, app, calls.Options{Folders: []string{}}) // which are none
	require.NoError(t, err)
	return app, f
}

// findings returns what is found by a rule: "file:line:column command" of calls, and else the
// message.
func findings(t testing.TB, files map[string]string, code capability.Code) []string {
	t.Helper()
	app, f := load(t, frontend(files))
	require.Empty(t, f.Unread)
	found := []string{}
	for _, d := range calls.Check(app, f, "", nil) {
		if d.Code == code {
			found = append(found, d.Place()+" "+d.Message)
		}
	}
	return found
}

// Calls are followed from the names of packages to the place of the call, and nothing else is taken
// for one.
func TestDeniedCalls(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/denied.txt")
	require.NoError(t, err)
	for _, section := range strings.Split(string(text), "\n=== ")[1:] {
		header, source, _ := strings.Cut(section, "\n")
		about := strings.Split(header, "; ")
		name, file, want := about[0], about[1], about[2]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := findings(t, map[string]string{"src/" + file: source}, "call-denied")
			at, command, called := strings.Cut(want, " ")
			if !called {
				require.Empty(t, got)
				return
			}
			require.NotEmpty(t, got)
			require.True(t, strings.HasPrefix(got[0], "src/"+file+":"+at+" "), "%s: %s", at, got[0])
			message := strings.Replace(got[0], ", is called", " is called", 1)
			require.Contains(t, message, command+" is called, but no capability grants it")
		})
	}
}

// Modules of the project are followed by paths, aliases and what they export again.
func TestModulesAreFollowed(t *testing.T) {
	t.Parallel()
	const use = "import {call, w} from '@/lib';\ncall('plugin:fs|stat'); w.minimize(); me().center()\n" +
		"import me from './me.js'"
	got := findings(t, map[string]string{
		"src/pages/a.tsx":  strings.ReplaceAll(use, "./me.js", "../me.js"),
		"src/lib/index.ts": "export * from './more'; export {w} from './window'",
		"src/lib/more.ts": "export {invoke as call} from '@tauri-apps/api/core';\n" +
			"export * from '@tauri-apps/api/path'",
		"src/lib/window.ts": "import {getCurrentWindow} from '@tauri-apps/api/window';\n" +
			"export const w = getCurrentWindow()",
		"src/me.ts": "import {getCurrentWindow} from '@tauri-apps/api/window';\n" +
			"export default function me() { return getCurrentWindow() }",
	}, "call-denied")
	require.Len(t, got, 3)
	for i, command := range []string{"plugin:fs|stat", "plugin:window|minimize", "plugin:window|center"} {
		require.True(t, strings.HasPrefix(got[i], "src/pages/a.tsx:2:"), got[i])
		require.Contains(t, got[i], command)
	}
}

// The names of commands may be constants of another module, alone or in an object.
func TestConstantsAreFollowed(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"src/names.ts": "export const STAT = 'plugin:fs|stat';\n" +
			"export const COMMAND = { CLOSE: 'plugin:window|close', 'min': `plugin:window|minimize`,\n" +
			"own: {} } as const",
		"src/index.ts": "export * from './names'; export {STAT as default} from './names'",
		"src/a.ts": "import {invoke} from '@tauri-apps/api/core'; import * as all from './names';\n" +
			"import stat, {COMMAND as C} from '.'; const HERE = {x: 'plugin:fs|exists', y: 'a' + b}\n" +
			"invoke(stat)\ninvoke(C.CLOSE)\ninvoke(all.COMMAND['min'])\ninvoke(HERE.x)\n" +
			"invoke(C.none)\ninvoke(C.own)\ninvoke(HERE.y)\nfunction f(C) { invoke(C.CLOSE) }",
	}
	denied := findings(t, files, "call-denied")
	require.Len(t, denied, 4)
	for i, command := range []string{"fs|stat", "window|close", "window|minimize", "fs|exists"} {
		start := fmt.Sprintf("src/a.ts:%d:1 plugin:%s is called", 3+i, command)
		require.True(t, strings.HasPrefix(denied[i], start), denied[i])
	}
	require.Len(t, findings(t, files, "call-computed"), 4)
}

// Modules may export all of each other: whoever asks first, each has the exports of both.
func TestModulesInACircle(t *testing.T) {
	t.Parallel()
	files := map[string]string{"src/c.ts": "export {stat, exists} from '@tauri-apps/plugin-fs'",
		"src/a.ts": "export * from './b'; export * from './c'", "src/b.ts": "export * from './a'",
		"src/x.ts": "import {stat} from './a'; stat('a'); import {exists} from './b'; exists('b')",
		"src/y.ts": "import {stat} from './b'; stat('a'); import {exists} from './a'; exists('b')"}
	for i := range 60 { // too many ways to try each
		for j := range 60 {
			files[fmt.Sprintf("src/z%d.ts", i)] += fmt.Sprintf("export * from './z%d';", j)
		}
	}
	files["src/z0.ts"] += "import {none} from './z1'; none()"
	require.Len(t, findings(t, files, "call-denied"), 4)
}

// A finding says which permission grants the command, in which file, and its fix writes just that,
// once for several calls.
func TestFixes(t *testing.T) {
	t.Parallel()
	const lines = "{\"identifier\": \"m\", \"windows\": [\"ma*\"], \"permissions\": [\n\t\"core:event:default\""
	const toml = "identifier = \"m\"\nwindows = [\"main\"]\npermissions = [\n  \"core:event:default\","
	const line = `{"identifier": "m", "windows": ["main"], "permissions": [`
	const json5 = "{identifier: 'm', windows: ['main'], permissions: [{identifier: 'fs:scope', allow: []},"
	const stat, closing = `"fs:allow-stat"`, `"core:window:allow-close"`
	const added = stat + ", " + closing
	for name, c := range map[string]struct{ file, was, want string }{
		"one line": {"main.json", line + `"core:event:default"]}`, line + `"core:event:default", ` + added + "]}"},
		"lines":    {"main.json", lines + "\n]}", lines + ",\n\t" + stat + ",\n\t" + closing + "\n]}"},
		"empty":    {"main.json", line + "]}", line + added + "]}"},
		"JSON5":    {"main.json5", json5 + " ]}", json5 + " " + added + ", ]}"},
		"TOML":     {"main.toml", toml + " # a\n]\n", toml + "\n  " + stat + ",\n  " + closing + ", # a\n]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fsys := frontend(map[string]string{"src-tauri/capabilities/main.json": "",
				"src/a.ts": "import {invoke} from '@tauri-apps/api/core';\n" +
					"invoke('plugin:fs|stat'); invoke('plugin:window|close'); invoke('plugin:fs|stat')"})
			file := "src-tauri/capabilities/" + c.file
			fsys[file] = &fstest.MapFile{Data: []byte(c.was)}
			for range 3 {
				app, f := load(t, fsys)
				off := map[capability.Code]capability.Severity{"grant-unused": capability.Off}
				found := calls.Check(app, f, "", off)
				for _, d := range found {
					require.Contains(t, d.Message, `to the capability "m" in `+file)
				}
				text, _ := app.Documents[0].Fixed(found)
				fsys[file] = &fstest.MapFile{Data: []byte(text)}
			}
			require.Equal(t, c.want, string(fsys[file].Data))
			app, f := load(t, fsys)
			require.Empty(t, app.Documents[0].Check())
			require.NotContains(t, fmt.Sprint(calls.Check(app, f, "", nil)), "call-denied")
		})
	}
}

// A call is denied to the windows whose pages lead to it, unless another window may have the page.
func TestWindows(t *testing.T) {
	t.Parallel()
	const lib = "import {stat, exists} from '@tauri-apps/plugin-fs';\n"
	files := func(more map[string]string) map[string]string {
		all := map[string]string{
			"src-tauri/tauri.conf.json": `{"app": {"windows": [{}, {"label": "splash", "url": "splash.html?a#b"}]}}`,
			"src-tauri/capabilities/main.json": `{"identifier": "m", "windows": ["main"],
  "permissions": ["fs:allow-stat", "fs:allow-exists"]}`,
			"index.html":   "<script type='module' src='/src/main.ts'></script>",
			"src/main.ts":  "import {a} from './lib'\na()",
			"src/lib.ts":   lib + "export const a = () => exists('a')",
			"splash.html":  "<script type='module' src='splash.ts'></script>",
			"splash.ts":    lib + "import './src/lib'; import './a.css'; import 'solid-js/web'\nstat('b')",
			"other.ts":     lib + "stat('c')",
			"package.json": `{"devDependencies": {"@tauri-apps/plugin-fs": "2", "solid-js": "1"}}`,
		}
		maps.Copy(all, more)
		return all
	}
	const splash = `stat, which is plugin:fs|stat, is called, but no capability grants it to the window "splash", ` +
		`whose page leads to the call; ` +
		`"fs:allow-stat" allows it, in a capability for the window "splash"; there is none.`
	for name, c := range map[string]struct {
		more map[string]string
		want []string
	}{
		"by page": {nil, []string{"splash.ts:3:1 " + splash}},
		"another window's page": {map[string]string{"src-tauri/capabilities/more.json": `{"identifier": "x",
  "windows": ["popup-*"], "permissions": ["fs:allow-stat"]}`}, nil},
		"a page that is not known": {map[string]string{"splash.html": ""}, nil},
		"a module that is not known": {map[string]string{"src/lib.ts": lib +
			"import '#b'\nexport const a = () => exists('a')"}, nil},
		"a computed import": {map[string]string{"src/lib.ts": "export const a = import.meta.glob('./*.ts')"}, nil},
	} {
		got := findings(t, files(c.more), "call-denied")
		require.ElementsMatch(t, c.want, got, name)
	}
	app, f := load(t, frontend(files(map[string]string{"tool.mjs": "import './none.js'"})))
	require.Equal(t, []string{"none.js, which a script imports"}, f.Unread)
	require.Contains(t, fmt.Sprint(calls.Check(app, f, "", nil)), splash, "no page leads to what is not read")
}

// A capability that the configuration does not list may be activated by the build.
func TestInactiveCapabilities(t *testing.T) {
	t.Parallel()
	files := map[string]string{"src/a.ts": "import {stat} from '@tauri-apps/plugin-fs';\nstat('x')",
		"src-tauri/tauri.conf.json":         `{"app": {"security": {"capabilities": ["main"]}}}`,
		"src-tauri/capabilities/other.json": `{"identifier": "o", "windows": ["x"], "permissions": ["fs:allow-stat"]}`}
	require.Empty(t, findings(t, files, "call-denied"))
	files["src-tauri/capabilities/other.json"] = ""
	require.Len(t, findings(t, files, "call-denied"), 1)
}

// A call is denied if it is on each platform, or on the one that is asked for.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	more := func(platform, permission string) string {
		return `{"identifier": "more", "windows": ["main"], "platforms": ["` + platform + `"], "permissions": ["` +
			permission + `"]}`
	}
	const denied = `fs:deny-stat in the capability "more" denies it to all windows.`
	on := func(platforms ...capability.Platform) []capability.Platform { return platforms }
	for name, c := range map[string]struct {
		main, more, want string
		on               []capability.Platform
	}{
		"denied on one": {"fs:allow-stat", more("windows", "fs:deny-stat"), denied, on("windows")},
		"granted on one": {"core:default", more("macOS", "fs:allow-stat"),
			`add "fs:allow-stat" to the capability "m" in src-tauri/capabilities/main.json.`, on("linux", "windows")},
		"denied on all": {"fs:allow-stat", more(`linux", "macOS", "windows", "android", "iOS`, "fs:deny-stat"), denied,
			on("", "linux", "macOS", "windows")},
	} {
		app, f := load(t, frontend(map[string]string{
			"src/a.ts": "import {stat} from '@tauri-apps/plugin-fs'; stat('x')",
			"src-tauri/capabilities/main.json": `{"identifier": "m", "windows": ["main"], "permissions": ["` +
				c.main + `"]}`, "src-tauri/capabilities/more.json": c.more}))
		for _, platform := range on("", "linux", "macOS", "windows") {
			found := calls.Check(app, f, platform, nil)
			require.Equal(t, slices.Contains(c.on, platform), len(found) > 0, "%s on %s: %v", name, platform, found)
			if len(found) > 0 {
				require.Contains(t, found[0].Message, c.want)
			}
		}
	}
}

// The advice names what allows a command on one platform only.
func TestAdviceForOnePlatform(t *testing.T) {
	t.Parallel()
	got := findings(t, map[string]string{"src/a.ts": "import {invoke} from '@tauri-apps/api/core'; invoke('greet')",
		"src-tauri/permissions/x.toml": "[[permission]]\nidentifier = \"allow-greet\"\nplatforms = [\"linux\"]\n" +
			"commands.allow = [\"greet\"]\n",
		"src-tauri/capabilities/main.json": `{"identifier": "m", "windows": ["x"], "permissions": ["core:default"]}`,
	}, "call-denied")
	require.Len(t, got, 1)
	require.Contains(t, got[0], `; "allow-greet" allows it, in a capability for the window "main"; there is none.`)
}

// A string cannot be added to permissions that are tables.
func TestTablesOfPermissions(t *testing.T) {
	t.Parallel()
	app, f := load(t, frontend(map[string]string{"src/a.ts": "import {stat} from '@tauri-apps/plugin-fs'; stat('x')",
		"src-tauri/capabilities/main.json": "", "src-tauri/capabilities/main.toml": "identifier = \"m\"\n" +
			"windows = [\"main\"]\n[[permissions]]\nidentifier = \"fs:scope\"\nallow = [\"$TEMP\"]\n"}))
	found := calls.Check(app, f, "", nil)
	require.Contains(t, found[len(found)-1].Message, `; add "fs:allow-stat" to the capability "m".`)
	require.Nil(t, found[len(found)-1].Fix)
}

// Computed names are listed with their place; what is denied explicitly cannot be granted; plugins
// of which nothing is known are not judged.
func TestOtherFindings(t *testing.T) {
	t.Parallel()
	files := map[string]string{"src/a.ts": "import {invoke} from '@tauri-apps/api/core';\n" +
		"  invoke(name); invoke(`a${b}`); " +
		"invoke('plugin:window|close'); invoke('plugin:usb|x'); invoke('plugin:pty|x')",
		"src-tauri/capabilities/main.json": `{"identifier": "m", "windows": ["main"], "permissions": ["core:default",
"core:window:allow-close", "core:window:deny-close", "usb:allow-y"]}`}
	const computed = " The name of the command is computed, so whether it is granted is not checked."
	require.Equal(t, []string{"src/a.ts:2:3" + computed, "src/a.ts:2:17" + computed},
		findings(t, files, "call-computed"))
	require.Equal(t, []string{"src/a.ts:2:41 plugin:window|close is called, but core:window:deny-close in the " +
		`capability "m" denies it to all windows.`, "src/a.ts:2:96 plugin:pty|x is called, but no capability grants " +
		"it; no permission that is known allows it."}, findings(t, files, "call-denied"))
	app, f := load(t, frontend(files))
	found := calls.Check(app, f, "", map[capability.Code]capability.Severity{"call-denied": capability.Off,
		"call-computed": capability.Warning})
	require.Len(t, found, 2)
	require.Equal(t, capability.Warning, found[0].Severity)
}

// A window handles the events about its own creation without a command.
func TestEventsWithoutCommands(t *testing.T) {
	t.Parallel()
	got := findings(t, map[string]string{"src/a.ts": "import {WebviewWindow} from '@tauri-apps/api/webviewWindow';\n" +
		"import {getCurrentWindow} from '@tauri-apps/api/window'; import {listen} from '@tauri-apps/api/event'\n" +
		"const w = new WebviewWindow('x'); w.once('tauri://created', f); const e = 'tauri://error'; w.listen(e, f)\n" +
		"getCurrentWindow().emit(`tauri://error`)\nw.once('a', f)\nlisten('tauri://error', f)",
		"src-tauri/capabilities/main.json": `{"identifier": "m", "windows": ["main"],
  "permissions": ["core:webview:allow-create-webview-window"]}`}, "call-denied")
	require.Len(t, got, 2)
	require.Contains(t, got[0], "src/a.ts:5:3 once, which is plugin:event|listen,")
	require.Contains(t, got[1], "src/a.ts:6:1 listen, which is plugin:event|listen,")
}

// A finding is about the name of the function as it is written, or about the text of the command.
func TestFindingsEndWhereTheNameEnds(t *testing.T) {
	t.Parallel()
	text := "import {invoke as call} from '@tauri-apps/api/core'; import * as fs from '@tauri-apps/plugin-fs';\n" +
		"const stat = 'plugin:fs|stat', c = fs.exists; call(stat); c('a'); fs.stat('b'); call('plugin:fs|size')"
	app, f := load(t, frontend(map[string]string{"src/a.ts": text}))
	var places []string
	for _, d := range calls.Check(app, f, "", nil) {
		places = append(places, text[d.Start.Offset:d.End.Offset])
	}
	require.Equal(t, []string{"call", "c", "stat", "'plugin:fs|size'"}, places)
}

// The application's own permissions are judged as those of plugins are, if they are known.
func TestOwnPermissions(t *testing.T) {
	t.Parallel()
	const listed = `fn main() { AppManifest::new().commands(&["greet", "log"]) }`
	for name, c := range map[string]struct{ script, file, permissions, denied, unused string }{
		"granted": {listed, "", `"allow-greet", "allow-log"`, "", ""},
		"missing": {listed, "", `"allow-greet"`, `src/a.ts:2:25 log is called, but no capability grants it; ` +
			`add "allow-log" to the capability "m" in src-tauri/capabilities/main.json.`, ""},
		"unused": {listed, "leave", `"allow-greet", "allow-log", "allow-leave"`, "",
			"No source of the frontend calls a command that allow-leave allows; if nothing else does, remove it."},
		"folder": {"", "log", `"allow-log", "greeting"`, "", ""},
		"missing in the folder": {"", "leave", `"greeting"`, `src/a.ts:2:25 log is called, but no capability grants ` +
			"it; list it in the build script (AppManifest::commands) or in one of the application's permissions, " +
			`and that permission, such as "allow-log", in a capability.`, ""},
		"a set that is unknown": {"", "", `"all-of-it"`, "", ""},
		"a list that is unknown": {"fn main() { AppManifest::new().commands(commands::ALL) }", "", `"allow-greet"`,
			"", ""},
		"a folder that is unknown": {"", "", `"allow-greet"`, "", ""},
	} {
		files := map[string]string{"src/a.ts": "import {invoke} from '@tauri-apps/api/core';\n" +
			"invoke('greet'); invoke('log'); f('')", "src-tauri/build.rs": c.script,
			"src-tauri/Cargo.lock": "[[package]]\nname = \"tauri\"\nversion = \"2.12.0\"\n",
			"src-tauri/capabilities/main.json": `{"identifier": "m", "windows": ["main"], "permissions": [` +
				c.permissions + "]}"}
		if c.file != "" {
			files["src-tauri/permissions/x.toml"] = "[[permission]]\nidentifier = \"allow-" + c.file +
				"\"\ncommands.allow = [\"" + c.file + "\"]\n[[permission]]\nidentifier = \"greeting\"\n" +
				"commands.allow = [\"greet\"]\n"
		}
		require.Equal(t, c.denied, strings.Join(findings(t, files, "call-denied"), "\n"), name)
		_, unused, _ := strings.Cut(strings.Join(findings(t, files, "grant-unused"), "\n"), " ")
		require.Equal(t, c.unused, unused, name)
	}
}

// One source that takes too long ends the reading, however many there are, and so does the context.
func TestReadingEnds(t *testing.T) {
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("src/%d.ts", i)] = "f()"
	}
	fsys := frontend(files)
	app, err := capability.LoadApp(fsys, capability.AppOptions{Dir: "src-tauri"})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = calls.Read(ctx, fsys, app, calls.Options{})
	require.ErrorIs(t, err, context.Canceled)

	for i := range 70 { // more than 64 MiB of what each file may have
		fsys[fmt.Sprintf("src/large%d.ts", i)] = &fstest.MapFile{Data: []byte(strings.Repeat("(", 1<<20))}
	}
	_, err = calls.Read(context.Background(), fsys, app, calls.Options{})
	require.ErrorContains(t, err, "the files of the application have more than 67108864 bytes")
	alone, err := capability.LoadApp(fsys, capability.AppOptions{Files: []string{"src-tauri/capabilities/main.json"}})
	require.NoError(t, err)
	_, err = calls.Read(context.Background(), fsys, alone, calls.Options{})
	require.ErrorContains(t, err, "belong to no application")
	_, err = calls.Read(context.Background(), fsys, app, calls.Options{Folders: []string{"none"}})
	require.ErrorContains(t, err, "none: file does not exist")

	large := frontend(map[string]string{"src/a.ts": "f()"})
	large["src/large.js"] = &fstest.MapFile{Data: make([]byte, 100<<20)}
	_, f := load(t, large)
	require.Equal(t, []string{"src/large.js has 104857600 bytes; at most 1048576 are read"}, f.Unread)
}

// What cannot be stopped goes on up to the end of the test program, so that is another one.
func TestReadingTakesTooLong(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	if os.Getenv("CALLS_TEST_READS") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), "CALLS_TEST_READS=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return
	}
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("src/%d.ts", i)] = strings.Repeat("a?(b):c=>", 60)
	}
	fsys := frontend(files)
	app, err := capability.LoadApp(fsys, capability.AppOptions{Dir: "src-tauri"})
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = calls.Read(context.Background(), fsys, app, calls.Options{})
	require.ErrorContains(t, err, "it takes too long to parse")
	runtime.ReadMemStats(&after)
	require.Less(t, after.HeapAlloc, before.HeapAlloc+4<<28, "for four files at a time")
}
