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
	r, ids := rand.New(rand.NewPCG(1, 2)), manifests.Identifiers()
	for range 120 {
		text, err := madeFile(r, ids)
		if err != nil {
			return nil, err
		}
		made.files = append(made.files, text)
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
func madeFile(r *rand.Rand, ids []string) ([]byte, error) {
	type object = map[string]any
	file := object{
		"$schema":     "../gen/schemas/desktop-schema.json",
		"identifier":  fmt.Sprintf("capability-%d", r.IntN(1e6)),
		"description": "What the window may do",
		"windows":     []string{"main", "settings-*"},
	}
	if r.IntN(3) == 0 {
		file["platforms"] = []string{"linux", "macOS", "windows"}
	}
	if r.IntN(6) == 0 {
		file["remote"] = object{"urls": []string{"https://*.example.com", "http://localhost:1420"}}
	}
	permissions := []any{"core:default"}
	for _, i := range r.Perm(len(ids))[:4+r.IntN(28)] {
		switch id := ids[i]; {
		case id == "core:default" || strings.Contains(id, "deny-"):
		case r.IntN(20) == 0:
			scope := []object{{"path": "$APPDATA/**"}, {"url": "https://*"}}
			permissions = append(permissions, object{"identifier": id, "allow": scope})
		default:
			permissions = append(permissions, id)
		}
	}
	file["permissions"] = permissions
	return json.MarshalIndent(file, "", "  ")
}
