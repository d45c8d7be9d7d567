// Command coretable brings the table of the core's commands up to date with the releases of the npm
// package @tauri-apps/api: it adds the commands that a release calls and the table lacks, and
// writes the first release that calls a command, unless the framework's source had it in 2.0.
// Whether a new command is in the default set is not in the package, and stays to be written by
// hand.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"lessonkit.example/capability/internal/npmcalls"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: coretable core.tsv")
		os.Exit(2)
	}
	if err := update(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "coretable:", err)
		os.Exit(1)
	}
}

func update(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var head strings.Builder
	var order []string
	rows := make(map[string][]string) // by namespace and command
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") {
			head.WriteString(line)
			continue
		}
		if !slices.Contains(order, fields[0]) {
			order = append(order, fields[0])
		}
		rows[fields[0]+"|"+fields[1]] = fields
	}
	first, err := firstReleases()
	if err != nil {
		return err
	}
	for command, release := range first {
		namespace, name, _ := strings.Cut(command, "|")
		row := rows[command]
		switch {
		case row != nil && row[3] != "2.0":
			row[3] = release
		case row == nil && slices.Contains(order, namespace) && release != "2.0":
			rows[command] = []string{namespace, name, "-", release}
		}
	}
	var lines []string
	for _, row := range rows {
		lines = append(lines, strings.Join(row, "\t")+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int {
		rank := func(line string) int {
			namespace, _, _ := strings.Cut(line, "\t")
			return slices.Index(order, namespace)
		}
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return os.WriteFile(file, []byte(head.String()+strings.Join(lines, "")), 0o644)
}

var release = regexp.MustCompile(`^2\.\d+\.\d+$`)

// firstReleases returns the first release, without the patch, that calls each command.
func firstReleases() (map[string]string, error) {
	listed, err := exec.Command("npm", "view", "@tauri-apps/api", "versions", "--json").Output()
	if err != nil {
		return nil, fmt.Errorf("npm view: %w", err)
	}
	var versions []string
	if err := json.Unmarshal(listed, &versions); err != nil {
		return nil, err
	}
	first := make(map[string]string)
	for _, version := range versions { // npm lists them in order
		if !release.MatchString(version) {
			continue
		}
		calls, err := npmcalls.Of("@tauri-apps/api", version, "*.js")
		if err != nil {
			return nil, err
		}
		for _, c := range calls {
			command := c.Plugin + "|" + strings.ReplaceAll(c.Command, "_", "-")
			if first[command] == "" {
				first[command] = version[:strings.LastIndexByte(version, '.')]
			}
		}
	}
	return first, nil
}
