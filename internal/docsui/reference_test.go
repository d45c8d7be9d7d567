package docsui

import (
	"encoding/json"
	"html/template"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func testReference(t *testing.T) *reference {
	data, err := os.ReadFile("testdata/openapi.json")
	require.NoError(t, err)
	var d document
	require.NoError(t, json.Unmarshal(data, &d))
	return newReference(&d, "http://shop.test")
}

func find(t *testing.T, r *reference, method, path string) operationView {
	for _, g := range r.Groups {
		for _, o := range g.Operations {
			if o.Method == method && o.Path == path {
				return o
			}
		}
	}
	t.Fatalf("no %s %s", method, path)
	return operationView{}
}

func TestReferenceOrderAndGroups(t *testing.T) {
	t.Parallel()
	r := testReference(t)
	require.Equal(t, "Pencil shop", r.Title)
	require.Equal(t, "http://shop.test", r.Server)
	require.Equal(t, []string{"bearer: http bearer. A session token."}, r.Security)
	var got []string
	for _, g := range r.Groups {
		got = append(got, g.Name)
		for _, o := range g.Operations {
			got = append(got, o.Method+" "+o.Path)
		}
	}
	require.Equal(t, []string{
		"Pencils", "GET /api/pencils", "POST /api/pencils", "GET /api/pencils/{pencil_id}", "DELETE /api/pencils/{pencil_id}",
		"PUT /api/pencils/{pencil_id}/photo", "Other", "GET /health",
	}, got)
}

func TestReferenceOperations(t *testing.T) {
	t.Parallel()
	r := testReference(t)

	list := find(t, r, "GET", "/api/pencils")
	require.Equal(t, template.HTML("<p>Sorted by <code>name</code>.</p>\n"), list.Description)
	require.Equal(t, "bearer", list.Security)
	require.Equal(t, field{Name: "limit", In: "query", Type: "integer", Text: "<p>How many</p>\n", Limits: []string{"1 to 200", "default 50"}}, list.Parameters[0])
	require.Equal(t, []string{`one of "red", "blue"`}, list.Parameters[1].Limits)
	require.Equal(t, "array of Pencil", list.Responses[0].Bodies[0].Type)
	require.Equal(t, "Pencil", list.Responses[0].Bodies[0].Link)
	require.Equal(t, "curl 'http://shop.test/api/pencils' \\\n  -H \"Authorization: Bearer $TOKEN\"", list.Curl)

	one := find(t, r, "GET", "/api/pencils/{pencil_id}")
	require.Equal(t, field{Name: "pencil_id", In: "path", Type: "string (uuid)", Required: true}, one.Parameters[0], "shared by the path, found by reference")
	require.Equal(t, "ETag", one.Responses[0].Headers[0].Name)
	require.Equal(t, "No such pencil", one.Responses[1].Text)
	require.Equal(t, "{\n  \"code\": \"not_found\"\n}", one.Responses[1].Bodies[0].Sample)
	require.Contains(t, one.Curl, "/api/pencils/PENCIL_ID'")

	add := find(t, r, "POST", "/api/pencils")
	require.Contains(t, add.Curl, "curl -X POST ")
	require.Contains(t, add.Curl, `-d '{"name":"Bob'\''s 2B","hardness":"HB","box":{"size":0.5,"rest":null}}'`, "an apostrophe cannot end the shell's word, a schema within itself ends")

	require.Equal(t, "{\n  \"name\": \"2B > HB \\\\u003e\"\n}", add.Responses[0].Bodies[0].Sample)
	require.Equal(t, "Box", add.Responses[1].Body.Link, "an error that only names its schema is a line")
	require.Empty(t, add.Responses[1].Bodies)

	photo := find(t, r, "PUT", "/api/pencils/{pencil_id}/photo")
	require.Equal(t, "curl -X PUT 'http://shop.test/api/pencils/PENCIL_ID/photo?size=SIZE' \\\n  -H 'X-Camera: X_CAMERA' \\\n"+
		"  -H \"Authorization: Bearer $TOKEN\" \\\n  -F 'file=@FILE' \\\n  -F 'sequence=SEQUENCE'", photo.Curl)

	health := find(t, r, "GET", "/health")
	require.Empty(t, health.Security, "an empty list switches signing in off")
	require.NotContains(t, health.Curl, "Authorization")
	require.Equal(t, "/health", health.Summary)
	require.True(t, find(t, r, "DELETE", "/api/pencils/{pencil_id}").Deprecated)
}

func TestReferenceSchemas(t *testing.T) {
	t.Parallel()
	r := testReference(t)
	require.Equal(t, []string{"NewPencil", "Pencil", "Box"}, []string{r.Schemas[0].Name, r.Schemas[1].Name, r.Schemas[2].Name})
	var names []string
	for _, f := range r.Schemas[1].Fields { // those of allOf together
		names = append(names, f.Name)
	}
	require.Equal(t, []string{"name", "hardness", "box", "pencil_id", "added_at"}, names)
	hardness := r.Schemas[0].Fields[1]
	require.Equal(t, "string or null", hardness.Type)
	require.Equal(t, []string{"matches ^[0-9]?[HB]$", `default "HB"`}, hardness.Limits)
	require.Equal(t, "any", r.Schemas[2].Fields[2].Type)
}

func TestProseIsText(t *testing.T) {
	t.Parallel()
	require.Equal(t, template.HTML("<p>a &lt;script&gt; <code>&lt;b&gt;</code></p>\n<p>c</p>\n"), prose("a <script> `<b>`\n\n\n c"))
}

func TestServerOfTheDocument(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"https://a.test/x/": "https://a.test/x", "/sub": "http://here.test/sub", "/": "http://here.test"} {
		var d document
		require.NoError(t, json.Unmarshal([]byte(`{"servers":[{"url":"`+in+`"}]}`), &d))
		require.Equal(t, want, newReference(&d, "http://here.test").Server)
	}
}

// FuzzReference: no document makes the page fail or show markup of its own.
func FuzzReference(f *testing.F) {
	data, err := os.ReadFile("testdata/openapi.json")
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(`{"paths":{"/x":{"get":{"tags":["<b>"],"responses":{"200":{"description":"<script>"}}}}},"components":{"schemas":{"A":{"$ref":"#/components/schemas/A"},"B":null}}}`))
	f.Add([]byte(`{"components":{"schemas":{"A":{"allOf":[{"$ref":"#/components/schemas/A"}],"items":{"$ref":"#/components/schemas/A"}}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var d document
		if json.Unmarshal(data, &d) != nil {
			return
		}
		var b strings.Builder
		require.NoError(t, pageTemplate.Execute(&b, page{Reference: newReference(&d, "http://shop.test")}))
		require.NotContains(t, b.String(), "<script")
	})
}
