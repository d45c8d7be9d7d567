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

// addBuilds adds what builds of applications have, in the order of the plugins' releases. A plugin
// that a Cargo.lock has in no version, or in several, is left out.
func (t table) addBuilds(folder string, newest map[string]string) error {
	names, err := filepath.Glob(filepath.Join(folder, "*", "acl-manifests.json"))
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("%s: %w: no build of an application", folder, fs.ErrNotExist)
	}
	found := make(map[string][]build)
	plugins := append(slices.Sorted(maps.Keys(t)), "opener")
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		lock, err := os.ReadFile(filepath.Join(filepath.Dir(name), "Cargo.lock"))
		if err != nil {
			return err
		}
		m := &capability.Manifests{}
		if err := m.Load(name, text).Err(); err != nil {
			return err
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
	for plugin, list := range found {
		slices.SortStableFunc(list, func(a, b build) int { return compare(a.version, b.version) })
		for _, b := range list {
			t.add(plugin, b.manifest)
		}
		known, _ := capability.ParseVersion(newest[plugin]) // zero without a tag
		if len(list) > 1 && compare(known, list[len(list)-2].version) < 0 {
			newest[plugin] = list[len(list)-2].version.String()
		}
	}
	return nil
}

func compare(a, b capability.Version) int {
	return slices.Compare([]int{a.Major, a.Minor, a.Patch}, []int{b.Major, b.Minor, b.Patch})
}
