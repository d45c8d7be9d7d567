package webui_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// For every code that the service can give, the page has words of its own in both languages, so
// that it never shows the service's English texts.
func TestEveryCodeHasWordsInBothLanguages(t *testing.T) {
	t.Parallel()
	wanted := map[string]bool{}
	for _, code := range problemCodes(t) {
		wanted["error_"+code] = true
	}
	require.Greater(t, len(wanted), 40, "the search finds the codes of problems")
	for _, known := range []string{
		"daily_limit_reached", "audio_empty", "invalid_fields", "upload_stalled", "token_invalid",
		"login_upstream_error", "method_not_allowed", "internal_error", "not_ready",
	} {
		require.Contains(t, wanted, "error_"+known)
	}
	for _, code := range documentedCodes(t, "error_code") {
		wanted["error_"+code] = true
	}
	for _, code := range append(documentedCodes(t, "warning_code"), documentedCodes(t, "warning_codes")...) {
		wanted["warning_"+code] = true
	}
	codes := 0
	for _, source := range []string{"validate", "profile", "message"} {
		text, err := os.ReadFile("../../../feedback/" + source + ".go")
		require.NoError(t, err)
		for _, found := range fieldCode.FindAllStringSubmatch(string(text), -1) {
			wanted["error_"+found[1]] = true
			codes++
		}
	}
	require.Equal(t, 6, codes, "the search finds the codes of fields")
	for _, texts := range files(t, ".json") {
		var have map[string]string
		require.NoError(t, json.Unmarshal([]byte(texts), &have))
		for key := range wanted {
			require.NotEmpty(t, have[key], key)
			require.NotContains(t, have[key], "{detail}", "%s: the service's text is for unknown codes", key)
		}
	}
}

// fieldCode matches the assignment of a code to a field that is not valid.
var fieldCode = regexp.MustCompile(`\b[cC]ode.* = "(\w+)"`)

// documentedCodes returns the values of a field of the interface's document.
func documentedCodes(t *testing.T, field string) []string {
	t.Helper()
	document, err := os.ReadFile("../../../feedback/feedbackhttp/testdata/openapi.json")
	require.NoError(t, err)
	var openapi struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					Enum  []*string
					Items struct{ Enum []*string }
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(document, &openapi))
	var codes []string
	for _, schema := range openapi.Components.Schemas {
		for _, code := range append(schema.Properties[field].Enum, schema.Properties[field].Items.Enum...) {
			if code != nil {
				codes = append(codes, *code)
			}
		}
	}
	require.NotEmpty(t, codes)
	return codes
}

// problemCodes returns the codes of the problems that the service's packages answer: the strings
// beside a status, as in httpapi.Error(http.StatusNotFound, "not_found", "") and in a map.
func problemCodes(t *testing.T) []string {
	t.Helper()
	var codes []string
	for _, dir := range []string{
		"../../../internal/httpapi", "../../../feedback/feedbackhttp", "../../../auth/authhttp",
		"../../feedback-server/server",
	} {
		sources, err := filepath.Glob(dir + "/*.go")
		require.NoError(t, err)
		require.NotEmpty(t, sources)
		for _, source := range sources {
			if strings.HasSuffix(source, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), source, nil, 0)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					codes = append(codes, besideStatus(n.Args)...)
				case *ast.CompositeLit:
					codes = append(codes, besideStatus(n.Elts)...)
				case *ast.KeyValueExpr:
					codes = append(codes, besideStatus([]ast.Expr{n.Key, n.Value})...)
				}
				return true
			})
		}
	}
	return codes
}

func besideStatus(list []ast.Expr) (codes []string) {
	for i := 1; i < len(list); i++ {
		if isStatus(list[i-1]) {
			codes = append(codes, text(list[i])...)
		}
	}
	return codes
}

func isStatus(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && strings.HasPrefix(s.Sel.Name, "Status")
}

func text(e ast.Expr) []string {
	if literal, ok := e.(*ast.BasicLit); ok && literal.Kind == token.STRING {
		if value, err := strconv.Unquote(literal.Value); err == nil {
			return []string{value}
		}
	}
	return nil
}
