// Command tables brings the tables of what is known without a build up to date: the commands of the
// core, and the permissions of the official plugins that plugins.tsv names. Run it in the folder of
// the tables, with one of two folders.
//
// One that contains the acl-manifests.json and the Cargo.lock of an application's build adds what
// the build has. The framework's release becomes that of the core's new commands, so run it with a
// build of each minor release.
//
// One that contains node_modules with the newest npm packages adds the commands that the packages
// of plugins call, and the day: npm install @tauri-apps/plugin-fs and so on. It also writes the
// table of the functions of these packages and of @tauri-apps/api.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"lessonkit.example/capability"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: tables FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], time.Now()); err != nil {
		fmt.Fprintln(os.Stderr, "tables:", err)
		os.Exit(1)
	}
}

// locked finds the framework and its plugins in a Cargo.lock.
var locked = regexp.MustCompile(`name = "(tauri(?:-plugin-[a-z-]+)?)"\r?\nversion = "([^"]+)"`)

func run(folder string, now time.Time) error {
	packages := filepath.Join(folder, "node_modules", "@tauri-apps")
	if _, err := os.Stat(packages); err == nil {
		return addPackages(packages, now)
	}
	text, err := os.ReadFile(filepath.Join(folder, "acl-manifests.json"))
	if err != nil {
		return err
	}
	lock, err := os.ReadFile(filepath.Join(folder, "Cargo.lock"))
	if err != nil {
		return err
	}
	m := &capability.Manifests{}
	if err := m.Load("acl-manifests.json", text).Err(); err != nil {
		return err
	}
	versions := make(map[string]capability.Version)
	for _, match := range locked.FindAllStringSubmatch(string(lock), -1) {
		if versions[match[1]], err = capability.ParseVersion(match[2]); err != nil {
			return err
		}
	}
	tauri := versions["tauri"]
	if err := rewrite("core.tsv", func(rows [][]string) [][]string {
		return addCore(rows, m, fmt.Sprintf("%d.%d", tauri.Major, tauri.Minor))
	}, now); err != nil {
		return err
	}
	return rewrite("plugins.tsv", func(rows [][]string) [][]string { return addPlugins(rows, m, versions) }, now)
}

// addPackages adds the commands that npm packages of plugins call, and makes their releases the
// newest ones that are known.
func addPackages(folder string, now time.Time) error {
	added := make(map[string]string) // the newest releases by plugin
	files, err := filepath.Glob(filepath.Join(folder, "plugin-*", "package.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var about struct{ Version string }
		if err := json.Unmarshal(text, &about); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		plugin := strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "plugin-")
		added[plugin] = about.Version
	}
	table, err := addCalls(folder)
	if err != nil {
		return err
	}
	if err := rewrite("calls/calls.tsv", func([][]string) [][]string { return table }, now); err != nil {
		return err
	}
	return rewrite("plugins.tsv", func(rows [][]string) [][]string {
		calls := make(map[[2]string]bool)
		for _, row := range table {
			for call := range strings.SplitSeq(strings.ReplaceAll(row[3], "?", ""), ",") {
				plugin, command, _ := strings.Cut(strings.TrimPrefix(call, "plugin:"), "|")
				calls[[2]string{plugin, command}] = true
			}
		}
		for _, row := range rows {
			delete(calls, [2]string{row[0], row[2]})
			if row[1] != "newest" {
				continue
			}
			known, _ := capability.ParseVersion(row[3]) // the table is tested
			if version, err := capability.ParseVersion(added[row[0]]); err == nil && known.Before(version) {
				row[3] = version.String()
			}
		}
		for call := range calls {
			if added[call[0]] != "" {
				rows = append(rows, []string{call[0], "command", call[1], "-"})
			}
		}
		sortPlugins(rows)
		return rows
	}, now)
}

// day is the comment that tells of which day a table is.
const day = "# Of "

// rewrite changes the rows of a table. Its comments stay, except the day.
func rewrite(file string, change func([][]string) [][]string, now time.Time) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var b strings.Builder
	var rows [][]string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, day) {
			b.WriteString(day + now.Format(time.DateOnly) + ".\n")
		} else if strings.HasPrefix(line, "#") {
			b.WriteString(line)
		} else {
			rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
		}
	}
	for _, row := range change(rows) {
		b.WriteString(strings.Join(row, "\t") + "\n")
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

// addCore adds the commands that the table lacks to the namespaces that it has.
func addCore(rows [][]string, m *capability.Manifests, release string) [][]string {
	var namespaces []string
	known := make(map[string]bool)
	for _, row := range rows {
		if !slices.Contains(namespaces, row[0]) {
			namespaces = append(namespaces, row[0])
		}
		known[row[0]+":"+row[1]] = true
	}
	for _, namespace := range namespaces {
		built := m.Get("core:" + namespace)
		if built == nil {
			continue
		}
		for id := range built.Permissions {
			name, ok := strings.CutPrefix(id, "allow-")
			if !ok || known[namespace+":"+name] {
				continue
			}
			set := "-"
			if built.Default != nil && slices.Contains(built.Default.Permissions, id) {
				set = "default"
			}
			rows = append(rows, []string{namespace, name, set, release})
		}
	}
	slices.SortFunc(rows, func(a, b []string) int {
		return cmp.Or(slices.Index(namespaces, a[0])-slices.Index(namespaces, b[0]), cmp.Compare(a[1], b[1]))
	})
	return rows
}

// addPlugins replaces the rows of plugins of which the build has a newer release, except those of
// names that it has no longer.
func addPlugins(rows [][]string, m *capability.Manifests, versions map[string]capability.Version) [][]string {
	built := make(map[string]map[string][]string)
	for _, row := range rows {
		version, manifest := versions["tauri-plugin-"+row[0]], m.Get(row[0])
		if row[1] != "newest" || manifest == nil {
			continue
		}
		if known, err := capability.ParseVersion(row[3]); err == nil && known.Before(version) {
			row[3] = version.String()
			built[row[0]] = rowsOf(manifest)
		}
	}
	rows = slices.DeleteFunc(rows, func(row []string) bool { return built[row[0]][row[2]] != nil })
	for _, more := range built {
		for _, row := range more {
			rows = append(rows, row)
		}
	}
	sortPlugins(rows)
	return rows
}

func sortPlugins(rows [][]string) {
	kind := func(row []string) string { return strings.Replace(row[1], "newest", "", 1) } // comes first
	slices.SortFunc(rows, func(a, b []string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(kind(a), kind(b)), cmp.Compare(a[2], b[2]))
	})
}

// rowsOf returns the rows of a manifest by their names; the two permissions of a command are one.
func rowsOf(m *capability.Manifest) map[string][]string {
	rows := make(map[string][]string)
	add := func(kind, name, content string) { rows[name] = []string{m.Plugin, kind, name, cmp.Or(content, "-")} }
	if m.Default != nil {
		add("default", "default", members(m.Default))
	}
	for name, set := range m.Sets {
		add("set", name, members(set))
	}
	for name, p := range m.Permissions {
		scoped := p.ScopeAllow != nil || p.ScopeDeny != nil
		if action, rest, ok := strings.Cut(name, "-"); ok && !scoped && len(p.Allow)+len(p.Deny) == 1 {
			command := slices.Concat(p.Allow, p.Deny)[0]
			if strings.ReplaceAll(command, "_", "-") == rest && (action == "allow") == (len(p.Allow) == 1) {
				add("command", command, "")
				continue
			}
		}
		content := map[string]any{}
		if len(p.Allow)+len(p.Deny) > 0 {
			content["commands"] = map[string]any{"allow": p.Allow, "deny": p.Deny}
		}
		if scoped {
			content["scope"] = map[string]any{"allow": p.ScopeAllow, "deny": p.ScopeDeny}
		}
		text, _ := json.Marshal(content) // strings and values that were JSON before
		add("permission", name, string(text))
	}
	return rows
}

// members returns the members of a set; its order has no effect.
func members(s *capability.PermissionSet) string {
	return strings.Join(slices.Sorted(slices.Values(s.Permissions)), ",")
}
