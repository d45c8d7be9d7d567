package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

// TestCodesOfRecognizersAreThoseOfSegments lists what methods PublicCode below asr return. Package
// feedback knows these codes, although neither package imports the other; it sets the other codes
// of segments itself.
func TestCodesOfRecognizersAreThoseOfSegments(t *testing.T) {
	t.Parallel()
	var found []string
	root := filepath.Join("..", "..", "asr")
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Name.Name != "PublicCode" || f.Recv == nil {
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING {
					code, err := strconv.Unquote(s.Value)
					require.NoError(t, err)
					found = append(found, code)
				}
				return true
			})
		}
		return nil
	}))
	slices.Sort(found)
	found = slices.Compact(found)
	require.Equal(t, []string{"audio_unusable", "language_unknown", "recogniser_account_refused", "recogniser_failed",
		"recogniser_lost", "recogniser_misconfigured", "recogniser_unavailable", "transcription_interrupted"}, found)
	own := []string{"audio_unusable", "recogniser_failed", "recording_missing", "transcription_cancelled",
		"transcription_interrupted", "transcription_timeout"}
	all := slices.Concat(found, own)
	slices.Sort(all)
	require.ElementsMatch(t, slices.Compact(all), feedback.FailureCodes())
}
