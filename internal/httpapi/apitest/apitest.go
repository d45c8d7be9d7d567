// Package apitest checks answers of a server against its OpenAPI document.
package apitest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Document is an OpenAPI document. It is safe for concurrent use.
type Document struct {
	routes     *http.ServeMux
	operations map[string]operation // by "METHOD path"
	shared     map[string]response
}

type operation struct {
	Responses map[string]response
}

type response struct {
	Ref     string `json:"$ref"`
	Headers map[string]any
}

// Parse parses a document.
func Parse(t testing.TB, document []byte) *Document {
	t.Helper()
	var doc struct {
		Paths      map[string]map[string]operation
		Components struct{ Responses map[string]response }
	}
	require.NoError(t, json.Unmarshal(document, &doc))
	d := &Document{
		routes: http.NewServeMux(), operations: map[string]operation{}, shared: doc.Components.Responses,
	}
	for path, operations := range doc.Paths {
		for method, op := range operations {
			pattern := strings.ToUpper(method) + " " + path
			d.operations[pattern] = op
			d.routes.Handle(pattern, http.NotFoundHandler())
		}
	}
	return d
}

// Check requires that the document has the status and every header of an answer. Requests that
// match no operation are not checked.
func (d *Document) Check(t testing.TB, r *http.Request, status int, header http.Header) {
	t.Helper()
	_, pattern := d.routes.Handler(r)
	op, ok := d.operations[pattern]
	if !ok {
		return
	}
	documented, ok := op.Responses[strconv.Itoa(status)]
	require.True(t, ok, "%s answered %d, which is not documented", pattern, status)
	if name, ok := strings.CutPrefix(documented.Ref, "#/components/responses/"); ok {
		documented = d.shared[name]
	}
	for name := range header {
		switch name {
		case "Content-Type", "Content-Length", "Date", "Connection", "Vary": // of HTTP, not of the operation
			continue
		}
		known := slices.ContainsFunc(slices.Collect(maps.Keys(documented.Headers)), func(documented string) bool {
			return strings.EqualFold(documented, name)
		})
		require.True(t, known, "%s answered %d with the header %s, which is not documented", pattern, status, name)
	}
}
