// Command plugintable writes the table of the official plugins' permissions: which commands,
// permissions and sets any release of them has had, and what the newest one has in them. Its
// sources are
//
//   - a clone of the plugins' repository: the permission files of each release that has a tag;
//   - builds of applications, for what came after the last tag: a folder with one folder for each,
//     which contains its acl-manifests.json and its Cargo.lock;
//   - the newest npm packages, for commands that neither has.
//
// Some files of manifests are older than the Cargo.lock beside them. So names are complete up to a
// release only if two builds have that one or later ones.
//
// Usage: plugintable TABLE CLONE [BUILDS]
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/npmcalls"
)

func main() {
	if len(os.Args) != 3 && len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: plugintable TABLE CLONE [BUILDS]")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], strings.Join(os.Args[3:], "")); err != nil {
		fmt.Fprintln(os.Stderr, "plugintable:", err)
		os.Exit(1)
	}
}

const head = `# The permissions of the official plugins, one a line: plugin, kind, name, and the content in the newest
# release that has it. "newest" is the release up to which a plugin's names are all known. A "command" has
# an allow and a deny permission, unless a "permission" has their names; the content of a "default" and of
# a "set" are its members, that of a "permission" is that of a manifest. capability/internal/plugintable
# writes the table.
`

// row is a name of a plugin with its content.
type row struct{ kind, name, content string }

// table contains the rows of each plugin by their names.
type table map[string]map[string]row

// add adds what a manifest has, in place of what the table had by the same names.
func (t table) add(plugin string, m *capability.Manifest) {
	if t[plugin] == nil {
		t[plugin] = make(map[string]row)
	}
	maps.Copy(t[plugin], rowsOf(m))
}

// rowsOf returns the rows of a manifest by their names; the two permissions of a command are one.
func rowsOf(m *capability.Manifest) map[string]row {
	rows := make(map[string]row)
	if m.Default != nil {
		rows["default"] = row{"default", "default", members(m.Default)}
	}
	for name, set := range m.Sets {
		rows[name] = row{"set", name, members(set)}
	}
	for name, p := range m.Permissions {
		scoped := p.ScopeAllow != nil || p.ScopeDeny != nil
		if action, rest, ok := strings.Cut(name, "-"); ok && !scoped && len(p.Allow)+len(p.Deny) == 1 {
			command := slices.Concat(p.Allow, p.Deny)[0]
			if strings.ReplaceAll(command, "_", "-") == rest && (action == "allow") == (len(p.Allow) == 1) {
				rows[command] = row{"command", command, "-"}
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
		rows[name] = row{"permission", name, string(text)}
	}
	return rows
}

// members returns the members of a set; its order has no effect.
func members(s *capability.PermissionSet) string {
	return cmp.Or(strings.Join(slices.Sorted(slices.Values(s.Permissions)), ","), "-")
}

func run(file, clone, builds string) error {
	t := make(table)
	newest := make(map[string]string)
	if err := t.addTags(clone, newest); err != nil {
		return err
	}
	if builds != "" {
		if err := t.addBuilds(builds, newest); err != nil {
			return err
		}
	}
	t.addCalls()
	var b strings.Builder
	b.WriteString(head)
	for _, plugin := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(&b, "%s\tnewest\t-\t%s\n", plugin, cmp.Or(newest[plugin], "-"))
		rows := slices.SortedFunc(maps.Values(t[plugin]), func(a, b row) int {
			return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
		})
		for _, r := range rows {
			fmt.Fprintf(&b, "%s\t%s\t%s\t%s\n", plugin, r.kind, r.name, r.content)
		}
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

var release = regexp.MustCompile(`^(.+)-v(2\.\d+\.\d+)$`)

// addTags adds the releases that have a tag, in their order.
func (t table) addTags(clone string, newest map[string]string) error {
	listed, err := git(clone, "tag", "--sort=v:refname")
	if err != nil {
		return err
	}
	for tag := range strings.Lines(listed) {
		match := release.FindStringSubmatch(strings.TrimSpace(tag))
		if match == nil || strings.HasSuffix(match[1], "-js") {
			continue
		}
		plugin := strings.TrimSuffix(match[1], "-plugin")
		files, err := git(clone, "ls-tree", "-r", "--name-only", match[0], "plugins/"+plugin+"/permissions/")
		if err != nil {
			return err
		}
		m := &capability.Manifests{}
		for file := range strings.Lines(files) {
			file = strings.TrimSpace(file)
			if !strings.HasSuffix(file, ".toml") {
				continue
			}
			text, err := git(clone, "show", match[0]+":"+file)
			if err != nil {
				return err
			}
			d := capability.ParseValue([]byte(text), capability.Options{Name: file})
			if err := m.LoadPermissions(plugin, d).Err(); err != nil {
				return fmt.Errorf("%s: %w", match[0], err)
			}
		}
		if built := m.Get(plugin); built != nil {
			t.add(plugin, built)
			newest[plugin] = match[2]
		}
	}
	return nil
}

func git(clone string, args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", clone}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return string(out), nil
}

// addCalls adds the commands that the newest npm packages call and the table lacks. A plugin
// without a package has none that pages call.
func (t table) addCalls() {
	for _, plugin := range slices.Sorted(maps.Keys(t)) {
		calls, err := npmcalls.Of("@tauri-apps/plugin-"+plugin, "2", "dist-js/*.js")
		if err != nil {
			fmt.Fprintln(os.Stderr, "plugintable: left out:", err)
		}
		for _, c := range calls {
			if c.Plugin == plugin && t[plugin][c.Command].kind != "command" {
				t[plugin][c.Command] = row{"command", c.Command, "-"}
			}
		}
	}
}
