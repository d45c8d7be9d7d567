package capability

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"lessonkit.example/capability"
)

// set is what is measured: files, and the manifests of a project.
type set struct {
	name      string
	files     [][]byte
	manifests *capability.Manifests
}

// sets returns the files made for the purpose and, where CAPABILITY_CORPUS names a folder of real
// ones, those with the manifests beside it.
func sets() ([]set, error) {
	manifests, err := madeManifests()
	if err != nil {
		return nil, err
	}
	made := set{name: "made", manifests: manifests}
	r := rand.New(rand.NewPCG(1, 2))
	ids := made.manifests.Identifiers()
	for range 120 {
		made.files = append(made.files, madeFile(r, ids))
	}
	all := []set{made}
	dir := os.Getenv("CAPABILITY_CORPUS")
	if dir == "" {
		return all, nil
	}
	real := set{name: "real", manifests: capability.CoreManifests()}
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		real.files = append(real.files, text)
	}
	file, text, err := largestManifests(filepath.Join(dir, "..", "manifests"))
	if err != nil {
		return nil, err
	}
	if err := real.manifests.Load(file, text).Err(); err != nil {
		return nil, err
	}
	return append(all, real), nil
}

func largestManifests(dir string) (name string, text []byte, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return "", nil, err
	}
	for _, n := range names {
		t, err := os.ReadFile(n)
		if err != nil {
			return "", nil, err
		}
		if len(t) > len(text) {
			name, text = n, t
		}
	}
	if name == "" {
		return "", nil, fmt.Errorf("%s does not contain an acl-manifests.json", dir)
	}
	return name, text, nil
}

// madeManifests has as many identifiers as a real project with 25 plugins.
func madeManifests() (*capability.Manifests, error) {
	type object = map[string]any
	plugins := object{}
	for p := range 25 {
		permissions := object{}
		var allowed []string
		for c := range 8 {
			name := fmt.Sprintf("do-thing-%d", c)
			commands := []string{strings.ReplaceAll(name, "-", "_")}
			permissions["allow-"+name] = object{"commands": object{"allow": commands}}
			permissions["deny-"+name] = object{"commands": object{"deny": commands}}
			allowed = append(allowed, "allow-"+name)
		}
		set := object{"permissions": allowed}
		plugins[fmt.Sprintf("plugin-%c", 'a'+p)] = object{
			"default_permission": set, "permissions": permissions, "permission_sets": object{"everything": set},
		}
	}
	text, err := json.Marshal(plugins)
	if err != nil {
		return nil, err
	}
	m := capability.CoreManifests()
	return m, m.Load("acl-manifests.json", text).Err()
}

// madeFile has the size and the shape of real files: half a kilobyte or more, one entry in twenty
// with a scope.
func madeFile(r *rand.Rand, ids []string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b,
		"{\n  \"$schema\": \"../gen/schemas/desktop-schema.json\",\n  \"identifier\": \"capability-%d\",\n  "+
			"\"description\": \"What the window may do\",\n  \"windows\": [\"main\", \"settings-*\"],\n", r.IntN(1e6))
	if r.IntN(3) == 0 {
		b.WriteString("  \"platforms\": [\"linux\", \"macOS\", \"windows\"],\n")
	}
	if r.IntN(6) == 0 {
		b.WriteString("  \"remote\": { \"urls\": [\"https://*.example.com\", \"http://localhost:1420\"] },\n")
	}
	b.WriteString("  \"permissions\": [\n    \"core:default\"")
	seen := map[string]bool{"core:default": true}
	for range 4 + r.IntN(28) {
		id := ids[r.IntN(len(ids))]
		if seen[id] || strings.Contains(id, "deny-") {
			continue
		}
		seen[id] = true
		if r.IntN(20) == 0 {
			fmt.Fprintf(&b,
				",\n    {\n      \"identifier\": %q,\n      \"allow\": [{ \"path\": \"$APPDATA/**\" }, { \"url\": "+
					"\"https://*\" }]\n    }", id)
		} else {
			fmt.Fprintf(&b, ",\n    %q", id)
		}
	}
	b.WriteString("\n  ]\n}\n")
	return []byte(b.String())
}
