package calls_test

import (
	"cmp"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability"
	"lessonkit.example/capability/calls"
)

// What no part of the frontend may call is reported of grants and of commands, unless a part is not
// known.
func TestUnused(t *testing.T) {
	t.Parallel()
	const rust = "#[tauri::command]\nfn greet() {}\n#[tauri::command]\npub async fn leave() {}\n" +
		"fn main() { builder.invoke_handler(tauri::generate_handler![greet, leave]) }"
	files := func(text string) map[string]string {
		return map[string]string{"src/a.ts": "import {invoke} from '@tauri-apps/api/core';\n" +
			"import {readText} from '@tauri-apps/plugin-clipboard-manager';\n" + text,
			"src-tauri/src/main.rs": rust,
			"src-tauri/capabilities/main.json": `{"identifier": "m", "windows": ["main"], "permissions":
["core:default", "fs:allow-stat", "fs:scope", "opener:default", "clipboard-manager:allow-read-text", "usb:allow-x"]}`}
	}
	for name, c := range map[string]struct {
		text             string
		grants, commands int
	}{
		"all":       {"invoke('greet'); invoke('plugin:fs|stat'); f('leave'); const a = '_blank'; readText()", 0, 0},
		"none":      {"invoke('greet')", 2, 1},
		"kept":      {"invoke('greet'); const f = invoke; f('leave'); f('plugin:fs|stat')", 1, 0},
		"in a list": {"invoke('greet'); for (const c of ['leave', 'plugin:fs|stat']) invoke(c)", 1, 0},
		"composed":  {"invoke('greet'); invoke(`lea${x}`)", 0, 0},
		"added":     {"invoke('greet'); invoke('plugin:fs|' + y)", 0, 0},
		"packages":  {"invoke('greet'); import {stat} from '@tauri-apps/plugin-fs'; export const s = stat", 1, 1},
		"nothing":   {"", 0, 0},
	} {
		require.Len(t, findings(t, files(c.text), "grant-unused"), c.grants, name)
		require.Len(t, findings(t, files(c.text), "command-unused"), c.commands, name)
	}
	vue := files("invoke('greet')")
	vue["src/b.vue"] = "<script setup>import {stat} from '@tauri-apps/plugin-fs'</script>" +
		"<template><p @click=\"stat('x')\" data-command='leave' target='_blank'/></template>"
	require.Empty(t, findings(t, vue, "grant-unused"))
	require.Empty(t, findings(t, vue, "command-unused"))

	added := files("invoke('greet'); stat('x')") // by a package that imports what scripts do not
	require.Len(t, findings(t, added, "grant-unused"), 2)
	added["package.json"] = `{"dependencies": {"@tauri-apps/api": "2", "@tauri-apps/plugin-clipboard-manager": "2"},
		"devDependencies": {"unplugin-auto-import": "1"}}`
	require.Len(t, findings(t, added, "grant-unused"), 1)
	// The plugin's own script calls a command in every page.
	scripted := files("invoke('greet'); readText()")
	scripted["src-tauri/capabilities/more.json"] = `{"identifier": "n", "windows": ["main"], "permissions":
["notification:default", "notification:allow-is-permission-granted", "notification:allow-notify"]}`
	require.Len(t, findings(t, scripted, "grant-unused"), 3)

	// A module that is left out by its name, or by its folder, is a part that is not known.
	for file, unread := range map[string]string{"src/gen/more.ts": "src/gen/more", "src/app.config.ts": "",
		"app.config.ts": "app.config", "src/out/x.ts": "src/out/x.js", "src/a.css": "", "src/d.min.js": "src/d.min"} {
		left := files("invoke('greet')")
		spec := cmp.Or(unread, strings.TrimSuffix(file, ".ts"))
		left["src/b.ts"], left[file] = "import '../"+spec+"'", "f('leave'); f('plugin:fs|stat')"
		app, f := load(t, frontend(left))
		require.Equal(t, unread != "", len(f.Unread) == 1, file)
		if unread != "" {
			require.Equal(t, unread+", which a script imports", f.Unread[0])
		}
		require.Equal(t, path.Ext(file) == ".css", len(calls.Check(app, f, "", nil)) > 1, file)
	}

	foreign := files("invoke('greet')")
	foreign["package.json"] = `{"dependencies": {"@a/b": "workspace:*"}}`
	app, f := load(t, frontend(foreign))
	require.Equal(t, []string{"@a/b is a package of the same repository"}, f.Unread)
	require.Empty(t, calls.Check(app, f, "", nil))

	foreign["package.json"] = "{}"
	foreign["src-tauri/tauri.conf.json"] = `{"build": {"frontendDist": "../../web/dist"}}`
	app, f = load(t, frontend(foreign))
	require.Equal(t, []string{"../../web/dist is elsewhere; name the folder of the frontend's sources"}, f.Unread)
	require.Empty(t, calls.Check(app, f, "", nil))
}

// A name that the Rust sources do not have is not registered, whatever registers commands there.
func TestUnregistered(t *testing.T) {
	t.Parallel()
	files := map[string]string{"src/a.ts": "import {invoke} from '@tauri-apps/api/core';\n" +
		"invoke('greet'); invoke('gret'); invoke('by_macro'); invoke('elsewhere')",
		"src-tauri/src/main.rs": "#[tauri::command]\nfn greet() {}\nmake!(by_macro);",
		"Cargo.toml":            "[workspace]", "crates/x/lib.rs": "fn elsewhere() {}"}
	require.Equal(t, []string{"src/a.ts:2:25 gret is called, but no Rust source of the application has a function " +
		`or a text of this name; did you mean "greet"?`}, findings(t, files, "call-unregistered"))
	files["src-tauri/build.rs"] = `fn main() { AppManifest::new().commands(&["greet"]) }`
	require.Len(t, findings(t, files, "call-denied"), 3, "what is not registered is reported once")
	app, f := load(t, frontend(files))
	off := map[capability.Code]capability.Severity{"call-unregistered": capability.Off}
	require.Len(t, calls.Check(app, f, "", off), 4)
	delete(files, "src-tauri/build.rs")
	delete(files, "src-tauri/src/main.rs")
	delete(files, "crates/x/lib.rs")
	require.Empty(t, findings(t, files, "call-unregistered"))
}
