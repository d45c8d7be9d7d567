// Package capability reads, checks and explains capability files: the JSON, JSON5 or TOML files
// that define which windows of a desktop application may call which commands (the format of Tauri
// 2, the reference implementation). It is for tools, editors and checks of changes; the program
// examples/capability is a finished one.
//
//	app, err := capability.LoadApp(os.DirFS("."), capability.AppOptions{})
//	if err != nil {
//		return err
//	}
//	for _, finding := range lint.CheckApp(app, lint.Options{}) {
//		fmt.Println(finding)
//	}
//
// [LoadApp] reads all files of an application. Package lint checks it, [App.Resolve] returns its
// [Policy], which decides whether a window may call a command and explains why, and
// [Document.Fixed] makes the changes that correct its files.
//
// [Parse] reads one file and keeps the position of every value. [Document.Check] returns what is
// wrong with it: each diagnostic is one sentence with its position, a stable code and, if the
// correction is mechanical, a fix. [Resolve] combines capabilities with the manifests of plugins
// into a [Policy].
//
// Package lint reports likely mistakes and risks, calls compares what the frontend calls with what
// is granted, capdiff compares what two sets of files grant, and report prints diagnostics for
// people and programs.
//
// A diagnostic has severity [Error] if the framework's build refuses the files; what is likely a
// mistake or a risk is a [Warning] or [Info].
package capability
