package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lessonkit.example/capability"
)

// build is what a build of an application tells about one plugin.
type build struct {
	version  capability.Version
	manifest *capability.Manifest
}

// builds observes builds of applications. A name is taken to exist since the last tag, and what it
// contains is that of the newest build.
func (t table) builds(folder string, tagged, newest map[string]string) error {
	found, err := readBuilds(folder, append(slices.Sorted(maps.Keys(t)), "opener"))
	if err != nil {
		return err
	}
	for plugin, list := range found {
		slices.SortStableFunc(list, func(a, b build) int { return compare(a.version, b.version) })
		all := &capability.Manifest{Plugin: plugin, Permissions: make(map[string]*capability.Permission),
			Sets: make(map[string]*capability.PermissionSet)}
		for _, b := range list {
			if b.manifest.Default != nil {
				all.Default = b.manifest.Default
			}
			maps.Copy(all.Permissions, b.manifest.Permissions)
			maps.Copy(all.Sets, b.manifest.Sets)
		}
		t.observe(plugin, all, after(tagged[plugin]), false)
		if len(list) < 2 {
			continue
		}
		known, _ := capability.ParseVersion(tagged[plugin]) // zero without a tag
		if second := list[len(list)-2].version; compare(known, second) < 0 {
			newest[plugin] = second.String()
		}
	}
	return nil
}

// readBuilds returns what the builds in a folder tell about plugins. A plugin that a Cargo.lock has
// in no version, or in several, is left out.
func readBuilds(folder string, plugins []string) (map[string][]build, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*", "acl-manifests.json"))
	if err != nil {
		return nil, err
	}
	found := make(map[string][]build)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		lock, err := os.ReadFile(filepath.Join(filepath.Dir(name), "Cargo.lock"))
		if err != nil {
			return nil, err
		}
		m := &capability.Manifests{}
		if err := m.Load(name, text).Err(); err != nil {
			return nil, err
		}
		for _, plugin := range plugins {
			entry := fmt.Sprintf("name = \"tauri-plugin-%s\"\nversion = \"", plugin)
			_, rest, _ := strings.Cut(strings.ReplaceAll(string(lock), "\r\n", "\n"), entry)
			version, rest, _ := strings.Cut(rest, "\"")
			v, err := capability.ParseVersion(version)
			built := m.Get(plugin)
			if err == nil && built != nil && v.Major == 2 && !strings.ContainsAny(version, "-+") &&
				!strings.Contains(rest, entry) {
				found[plugin] = append(found[plugin], build{v, built})
			}
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: %w: no build of an application", folder, fs.ErrNotExist)
	}
	return found, nil
}

func compare(a, b capability.Version) int {
	return slices.Compare([]int{a.Major, a.Minor, a.Patch}, []int{b.Major, b.Minor, b.Patch})
}
