// Package capability reads, judges and explains capability files: the JSON,
// JSON5 or TOML files that say which windows of a desktop application may call
// which commands (the format of Tauri 2, the reference implementation).
//
// [Parse] reads a file and keeps the place of every value; [Document.Check]
// says what is wrong with it, each finding in one sentence with its place, a
// stable code and, where it is mechanical, a fix. [Resolve] brings capabilities
// and the manifests of plugins together into a [Policy], which decides whether
// a window may call a command and explains why.
//
// # Modes
//
// A file can be judged exactly as the format's JSON Schema does ([ModeSchema]),
// exactly as the reference implementation reads it ([ModeReference]), or by
// everything that is likely a mistake or a risk ([ModeLint]). The first two differ:
// the schema refuses permissions that are listed twice, which the reference
// accepts, and it knows nothing of the grammar of identifiers.
//
// # Errors
//
// Reading never fails: a document says itself what is wrong with it. The errors
// of what fails have a method Permanent that reports true: trying again cannot
// help.
//
// # Concurrency
//
// Documents, policies, patterns and manifests do not change once they are made
// and may be used by several goroutines.
package capability
