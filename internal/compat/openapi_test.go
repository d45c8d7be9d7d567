// Package compat tests that the HTTP interfaces remain compatible with those of the last release,
// which is the last tag v*. Go's interfaces are compared by .ci/run.
package compat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type object = map[string]any

// compare returns the changes from the OpenAPI document before to now that break clients: servers
// are upgraded before clients, refuse request fields that they do not know, and clients ignore
// fields, statuses and values in answers that they do not know.
func compare(before, now []byte) ([]string, error) {
	var c comparison
	if err := json.Unmarshal(before, &c.before); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(now, &c.now); err != nil {
		return nil, err
	}
	for route, item := range sorted(c.before["paths"]) {
		for method, op := range sorted(item) {
			if _, ok := op.(object)["responses"]; !ok {
				continue // shared parameters, which our documents do not have
			}
			c.where = strings.ToUpper(method) + " " + route
			c.operation(op.(object), get(c.now, "paths", route, method))
		}
	}
	return c.problems, nil
}

type comparison struct {
	before, now object
	where       string // the operation
	problems    []string
	seen        map[string]bool // pairs of schemas that are being compared
}

func (c *comparison) report(format string, args ...any) {
	c.problems = append(c.problems, c.where+": "+fmt.Sprintf(format, args...))
}

func (c *comparison) operation(before, now object) {
	if now == nil {
		c.report("the operation is gone")
		return
	}
	c.seen = map[string]bool{}
	c.parameters(list(before["parameters"]), list(now["parameters"]))

	body, newBody := get(before, "requestBody"), get(now, "requestBody")
	if newBody["required"] == true && body["required"] != true {
		c.report("a request body is required")
	}
	c.content("request", body, newBody, c.request)

	for status, answer := range sorted(before["responses"]) {
		newAnswer := get(now, "responses", status)
		if newAnswer == nil {
			c.report("the status %s is gone", status)
			continue
		}
		c.content(status, answer.(object), newAnswer, c.response)
		for header := range sorted(get(answer.(object), "headers")) {
			if get(newAnswer, "headers", header) == nil {
				c.report("%s: the header %s is gone", status, header)
			}
		}
	}
}

func (c *comparison) parameters(before, now []object) {
	find := func(all []object, p object) object {
		i := slices.IndexFunc(all, func(q object) bool { return q["name"] == p["name"] && q["in"] == p["in"] })
		if i < 0 {
			return nil
		}
		return all[i]
	}
	for _, p := range before {
		name := fmt.Sprintf("%s parameter %s", p["in"], p["name"])
		if q := find(now, p); q == nil {
			c.report("the %s is gone", name)
		} else {
			c.request(name, get(p, "schema"), get(q, "schema"))
		}
	}
	for _, q := range now {
		if p := find(before, q); q["required"] == true && (p == nil || p["required"] != true) {
			c.report("the %s parameter %s is required", q["in"], q["name"])
		}
	}
}

// content compares the schemas of each media type.
func (c *comparison) content(name string, before, now object, schemas func(name string, before, now object)) {
	for media, old := range sorted(get(before, "content")) {
		current := get(now, "content", media)
		if current == nil {
			c.report("%s: the media type %s is gone", name, media)
			continue
		}
		schemas(name, get(old.(object), "schema"), get(current, "schema"))
	}
}

// request reports what a client may have sent before and may not send now.
func (c *comparison) request(name string, before, now object) {
	before, now, done := c.resolve("request", before, now)
	if done {
		return
	}
	for _, kind := range typesOf(before) {
		if !slices.Contains(typesOf(now), kind) {
			c.report("%s: the type %s is refused", name, kind)
		}
	}
	for _, least := range []string{"minimum", "minLength", "minItems"} {
		c.limit(name, least, before, now, func(old, new float64) bool { return new > old })
	}
	for _, most := range []string{"maximum", "maxLength", "maxItems"} {
		c.limit(name, most, before, now, func(old, new float64) bool { return new < old })
	}
	for _, rule := range []string{"pattern", "format"} {
		if now[rule] != nil && now[rule] != before[rule] {
			c.report("%s: the %s %v is required", name, rule, now[rule])
		}
	}
	if values, ok := now["enum"].([]any); ok {
		old, _ := before["enum"].([]any)
		if before["enum"] == nil {
			c.report("%s: only some values are accepted", name)
		}
		for _, v := range old {
			if !slices.Contains(values, v) {
				c.report("%s: the value %v is refused", name, v)
			}
		}
	}
	properties, required := get(now, "properties"), texts(now["required"])
	for field, schema := range sorted(before["properties"]) {
		if properties[field] == nil {
			c.report("%s.%s: the field is refused", name, field)
			continue
		}
		c.request(name+"."+field, schema.(object), get(properties, field))
	}
	for _, field := range required {
		if !slices.Contains(texts(before["required"]), field) {
			c.report("%s.%s: the field is required", name, field)
		}
	}
	c.request(name+"[]", get(before, "items"), get(now, "items"))
}

func (c *comparison) limit(name, keyword string, before, now object, narrower func(old, new float64) bool) {
	limit, ok := now[keyword].(float64)
	if !ok {
		return
	}
	if old, ok := before[keyword].(float64); !ok || narrower(old, limit) {
		c.report("%s: %s is %v, was %v", name, keyword, limit, cmp.Or[any](before[keyword], "unlimited"))
	}
}

// response reports what a client may rely on before and not now.
func (c *comparison) response(name string, before, now object) {
	before, now, done := c.resolve("response", before, now)
	if done {
		return
	}
	for _, kind := range typesOf(now) {
		if !slices.Contains(typesOf(before), kind) {
			c.report("%s: the type %s is new", name, kind)
		}
	}
	for field, schema := range sorted(before["properties"]) {
		current := get(now, "properties", field)
		if current == nil {
			c.report("%s.%s: the field is gone", name, field)
			continue
		}
		if slices.Contains(texts(before["required"]), field) && !slices.Contains(texts(now["required"]), field) {
			c.report("%s.%s: the field may be missing", name, field)
		}
		c.response(name+"."+field, schema.(object), current)
	}
	c.response(name+"[]", get(before, "items"), get(now, "items"))
}

// resolve follows references. It returns done for schemas that are missing or compared already.
func (c *comparison) resolve(side string, before, now object) (_, _ object, done bool) {
	if before == nil || now == nil {
		return nil, nil, true
	}
	pair := fmt.Sprint(side, before["$ref"], now["$ref"])
	if before["$ref"] != nil && now["$ref"] != nil {
		if c.seen[pair] {
			return nil, nil, true
		}
		c.seen[pair] = true
	}
	return follow(c.before, before), follow(c.now, now), false
}

func follow(document, schema object) object {
	if ref, ok := schema["$ref"].(string); ok {
		return get(document, "components", "schemas", path.Base(ref))
	}
	return schema
}

// typesOf returns the types of a schema.
func typesOf(schema object) []string {
	if kind, ok := schema["type"].(string); ok {
		return []string{kind}
	}
	return texts(schema["type"])
}

func texts(v any) (all []string) {
	values, _ := v.([]any)
	for _, v := range values {
		all = append(all, v.(string))
	}
	return all
}

func list(v any) (all []object) {
	values, _ := v.([]any)
	for _, v := range values {
		all = append(all, v.(object))
	}
	return all
}

// get returns the object at a path of keys, or nil.
func get(o object, keys ...string) object {
	for _, key := range keys {
		o, _ = o[key].(object)
	}
	return o
}

// sorted yields the fields of an object in order.
func sorted(v any) func(yield func(string, any) bool) {
	o, _ := v.(object)
	return func(yield func(string, any) bool) {
		for _, key := range slices.Sorted(maps.Keys(o)) {
			if !yield(key, o[key]) {
				return
			}
		}
	}
}

func TestHTTPInterfacesRemainCompatible(t *testing.T) {
	t.Parallel()
	tag, err := exec.Command("git", "describe", "--tags", "--abbrev=0", "--match", "v*").Output()
	if err != nil {
		t.Skip("there is no release to compare with: no tag v*, or not a git checkout")
	}
	release := strings.TrimSpace(string(tag))
	files, err := exec.Command("git", "-C", "../..", "ls-tree", "-r", "--name-only", release).Output()
	require.NoError(t, err)
	compared := 0
	for _, file := range strings.Fields(string(files)) {
		if path.Base(file) != "openapi.json" {
			continue
		}
		before, err := exec.Command("git", "show", release+":"+file).Output()
		require.NoError(t, err)
		now, err := os.ReadFile("../../" + file)
		require.NoError(t, err, "the document of an interface")
		problems, err := compare(before, now)
		require.NoError(t, err)
		for _, problem := range problems {
			if strings.HasPrefix(release, "v0.") {
				t.Logf("since %s, %s: %s", release, file, problem) // allowed until version 1
			} else {
				t.Errorf("since %s, %s: %s", release, file, problem)
			}
		}
		compared++
	}
	require.NotZero(t, compared)
}

func TestIncompatibleChangesAreFound(t *testing.T) {
	t.Parallel()
	const document = `{"paths": {"/pupils": {"post": {
		"parameters": [{"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 100}}],
		"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Fields"}}}},
		"responses": {
			"201": {"headers": {"ETag": {}}, "content": {"application/json": {
				"schema": {"$ref": "#/components/schemas/Pupil"}}}},
			"409": {"description": "exists"}}}}},
		"components": {"schemas": {
			"Fields": {"type": "object", "required": ["name"], "properties": {
				"name": {"type": "string", "minLength": 1, "maxLength": 100},
				"grade": {"type": ["string", "null"], "enum": ["a", "b"]},
				"friends": {"type": "array", "items": {"$ref": "#/components/schemas/Fields"}}}},
			"Pupil": {"type": "object", "required": ["id", "name"], "properties": {
				"id": {"type": "string"}, "name": {"type": "string"},
				"friends": {"type": "array", "items": {"$ref": "#/components/schemas/Pupil"}}}}}}}`
	for _, c := range []struct {
		rule, from, to string
		want           []string
	}{
		{"nothing", "", "", nil},
		{"another path", `"/pupils"`, `"/students"`, []string{"POST /pupils: the operation is gone"}},
		{"another method", `"post"`, `"put"`, []string{"POST /pupils: the operation is gone"}},
		{"a lost status", `"409"`, `"410"`, []string{"the status 409 is gone"}},
		{"a new status", `"409"`, `"403": {}, "409"`, nil},
		{"a lost header", `"ETag"`, `"X-Version"`, []string{"201: the header ETag is gone"}},
		{"another media type", `"201": {"headers": {"ETag": {}}, "content": {"application/json"`,
			`"201": {"headers": {"ETag": {}}, "content": {"text/plain"`,
			[]string{"201: the media type application/json is gone"}},
		{"a lost field of an answer", `"id": {"type": "string"}, "name"`, `"id": {"type": "string"}, "title"`,
			[]string{"201.name: the field is gone"}},
		{"an optional field of an answer", `"required": ["id", "name"]`, `"required": ["id"]`,
			[]string{"201.name: the field may be missing"}},
		{"a null in an answer", `"id": {"type": "string"}`, `"id": {"type": ["string", "null"]}`,
			[]string{"201.id: the type null is new"}},
		{"a new field of an answer", `"id": {"type": "string"},`, `"id": {"type": "string"}, "new": {},`, nil},
		{"a new required field", `"required": ["name"]`, `"required": ["name", "grade"]`,
			[]string{"request.grade: the field is required"}},
		{"a field no longer required", `"required": ["name"]`, `"required": []`, nil},
		{"a lost field of a request", `"friends": {"type": "array", "items": {"$ref": "#/components/schemas/Fields"}}`,
			`"mates": {}`, []string{"request.friends: the field is refused"}},
		{"a shorter text", `"maxLength": 100`, `"maxLength": 50`, []string{"request.name: maxLength is 50, was 100"}},
		{"a longer text", `"maxLength": 100`, `"maxLength": 200`, nil},
		{"no limit", `, "maxLength": 100`, ``, nil},
		{"a longer shortest text", `"minLength": 1`, `"minLength": 2`,
			[]string{"request.name: minLength is 2, was 1"}},
		{"a new limit", `"minLength": 1`, `"minLength": 1, "pattern": "^[a-z]+$"`,
			[]string{"request.name: the pattern ^[a-z]+$ is required"}},
		{"a lost type", `["string", "null"]`, `"string"`, []string{"request.grade: the type null is refused"}},
		{"a lost value", `["a", "b"]`, `["a", "c"]`, []string{"request.grade: the value b is refused"}},
		{"a new value", `["a", "b"]`, `["a", "b", "c"]`, nil},
		{"a smaller page", `"maximum": 100`, `"maximum": 50`,
			[]string{"query parameter limit: maximum is 50, was 100"}},
		{"a lost parameter", `"name": "limit"`, `"name": "size"`, []string{"the query parameter limit is gone"}},
		{"a required parameter", `"in": "query",`, `"in": "query", "required": true,`,
			[]string{"the query parameter limit is required"}},
		{"a required body", `"requestBody": {`, `"requestBody": {"required": true, `,
			[]string{"a request body is required"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, document, c.from)
			got, err := compare([]byte(document), []byte(strings.Replace(document, c.from, c.to, 1)))
			require.NoError(t, err)
			require.Len(t, got, len(c.want), "%v", got)
			for i, want := range c.want {
				require.Contains(t, got[i], want)
			}
		})
	}
	_, err := compare([]byte("{"), []byte("{}"))
	require.Error(t, err)
	_, err = compare([]byte("{}"), []byte("{"))
	require.Error(t, err)
}
