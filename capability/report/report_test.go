package report_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability"
	"lessonkit.example/capability/report"
)

func Example() {
	d := capability.Parse([]byte("{\n  \"identifier\": \"main\",\n  \"windows\": \"main\",\n  \"permissions\": []\n}"),
		capability.Options{Name: "main.json"})
	_ = report.Text(os.Stdout, d.Check(), report.TextOptions{Files: 1})
	// Output:
	// main.json:3:14: error: "windows" must be an array, not a string; write ["main"]. [wrong-type]
	//     3 |   "windows": "main",
	//       |              ^^^^^^
	// 1 file checked: 1 error.
}

func TestTextShowsLongLinesAroundThePlace(t *testing.T) {
	t.Parallel()
	text := `{"identifier":"a","permissions":[` + strings.Repeat(`"core:default", `, 30) + `5]}`
	d := capability.Parse([]byte(text), capability.Options{})
	var b bytes.Buffer
	isNoError := func(d capability.Diagnostic) bool { return d.Severity != capability.Error }
	errors := slices.DeleteFunc(d.Check(), isNoError)
	require.NoError(t, report.Text(&b, errors, report.TextOptions{Color: true, Files: 1}))
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, "|") {
			require.Less(t, len([]rune(line)), 150)
		}
	}
	lines := strings.Split(b.String(), "\n")
	plain := strings.NewReplacer("\x1b[1;34m", "", "\x1b[1;31m", "", "\x1b[0m", "").Replace
	at := strings.Index(plain(lines[2]), "^")
	require.Equal(t, '5', []rune(plain(lines[1]))[at])
}

func TestSARIF(t *testing.T) {
	t.Parallel()
	d := capability.Parse([]byte(`{"identifier":"é","permissions":["x","x",],"windows":["m"]}`),
		capability.Options{Name: "dir/a b.json"})
	var b bytes.Buffer
	require.NoError(t, report.SARIF(&b, d.Check(), capability.Rules(), report.SARIFOptions{Version: "v1.2.3"}))
	var log struct {
		Version string
		Runs    []struct {
			ColumnKind string
			Tool       struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine, StartColumn, EndColumn int }
					}
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(b.Bytes(), &log))
	require.Equal(t, "2.1.0", log.Version)
	run := log.Runs[0]
	require.Equal(t, "unicodeCodePoints", run.ColumnKind)
	require.Len(t, run.Results, 2)
	for _, r := range run.Results {
		require.Equal(t, r.RuleID, run.Tool.Driver.Rules[r.RuleIndex].ID)
		require.Equal(t, "dir/a%20b.json", r.Locations[0].PhysicalLocation.ArtifactLocation.URI)
	}
	require.Equal(t, "warning", run.Results[0].Level)
	require.Equal(t, 38, run.Results[0].Locations[0].PhysicalLocation.Region.StartColumn)
	require.Equal(t, "error", run.Results[1].Level)
}

func TestSARIFNamesFilesByURLs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"main.json":        "main.json",
		"/app/main.json":   "file:///app/main.json",
		"C:/app/main.json": "file:///C:/app/main.json",
	} {
		d := capability.Parse([]byte("{}"), capability.Options{Name: name})
		var b bytes.Buffer
		require.NoError(t, report.SARIF(&b, d.Check(), capability.Rules(), report.SARIFOptions{}))
		require.Contains(t, b.String(), `"uri": "`+want+`"`)
	}
}
