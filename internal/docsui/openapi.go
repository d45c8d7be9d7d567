package docsui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// document is what the reference shows of an OpenAPI 3.0 or 3.1 document.
type document struct {
	OpenAPI string `json:"openapi"`
	Info    struct {
		Title, Version, Description string
	} `json:"info"`
	Servers []struct {
		URL string `json:"url"`
	} `json:"servers"`
	Tags []struct {
		Name, Description string
	} `json:"tags"`
	Paths      ordered[ordered[json.RawMessage]] `json:"paths"`
	Security   []map[string][]string             `json:"security"`
	Components struct {
		Schemas         ordered[*schema]     `json:"schemas"`
		Parameters      map[string]parameter `json:"parameters"`
		RequestBodies   map[string]body      `json:"requestBodies"`
		Responses       map[string]response  `json:"responses"`
		SecuritySchemes ordered[struct {
			Type, Scheme, Name, In, Description string
		}] `json:"securitySchemes"`
	} `json:"components"`
}

type operation struct {
	OperationID string                 `json:"operationId"`
	Tags        []string               `json:"tags"`
	Summary     string                 `json:"summary"`
	Description string                 `json:"description"`
	Deprecated  bool                   `json:"deprecated"`
	Parameters  []parameter            `json:"parameters"`
	RequestBody *body                  `json:"requestBody"`
	Responses   ordered[response]      `json:"responses"`
	Security    *[]map[string][]string `json:"security"`
}

type parameter struct {
	Ref         string          `json:"$ref"`
	Name        string          `json:"name"`
	In          string          `json:"in"`
	Description string          `json:"description"`
	Required    bool            `json:"required"`
	Deprecated  bool            `json:"deprecated"`
	Schema      *schema         `json:"schema"`
	Example     json.RawMessage `json:"example"`
}

type body struct {
	Ref         string         `json:"$ref"`
	Description string         `json:"description"`
	Required    bool           `json:"required"`
	Content     ordered[media] `json:"content"`
}

type response struct {
	Ref         string             `json:"$ref"`
	Description string             `json:"description"`
	Headers     ordered[parameter] `json:"headers"`
	Content     ordered[media]     `json:"content"`
}

type media struct {
	Schema   *schema         `json:"schema"`
	Example  json.RawMessage `json:"example"`
	Examples ordered[struct {
		Value json.RawMessage `json:"value"`
	}] `json:"examples"`
}

type schema struct {
	Ref         string            `json:"$ref"`
	Type        typeNames         `json:"type"`
	Format      string            `json:"format"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Properties  ordered[*schema]  `json:"properties"`
	Required    []string          `json:"required"`
	Items       *schema           `json:"items"`
	Additional  json.RawMessage   `json:"additionalProperties"`
	OneOf       []*schema         `json:"oneOf"`
	AnyOf       []*schema         `json:"anyOf"`
	AllOf       []*schema         `json:"allOf"`
	Enum        []json.RawMessage `json:"enum"`
	Const       json.RawMessage   `json:"const"`
	Default     json.RawMessage   `json:"default"`
	Example     json.RawMessage   `json:"example"`
	Examples    []json.RawMessage `json:"examples"`
	Minimum     *json.Number      `json:"minimum"`
	Maximum     *json.Number      `json:"maximum"`
	MinLength   *int              `json:"minLength"`
	MaxLength   *int              `json:"maxLength"`
	MinItems    *int              `json:"minItems"`
	MaxItems    *int              `json:"maxItems"`
	Pattern     string            `json:"pattern"`
	ReadOnly    bool              `json:"readOnly"`
	Nullable    bool              `json:"nullable"` // OpenAPI 3.0
	Deprecated  bool              `json:"deprecated"`
	Binary      string            `json:"contentMediaType"`

	any bool // the schema is the word true
}

// UnmarshalJSON also takes true and false, which are schemas too.
func (s *schema) UnmarshalJSON(data []byte) error {
	if t := bytes.TrimSpace(data); bytes.Equal(t, []byte("true")) || bytes.Equal(t, []byte("false")) {
		s.any = true
		return nil
	}
	type plain schema
	return json.Unmarshal(data, (*plain)(s))
}

// typeNames is a schema's type: a word in OpenAPI 3.0, a word or several in 3.1.
type typeNames []string

func (t *typeNames) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = typeNames{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

func (t typeNames) has(name string) bool {
	for _, n := range t {
		if n == name {
			return true
		}
	}
	return false
}

// ordered is a JSON object whose keys keep their order: that of the document is
// the one its author meant.
type ordered[T any] struct {
	keys   []string
	values map[string]T
}

func (o *ordered[T]) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	start, err := dec.Token()
	if err != nil {
		return err
	}
	if start == nil { // null
		return nil
	}
	if start != json.Delim('{') {
		return fmt.Errorf("want an object, have %v", start)
	}
	o.keys, o.values = nil, map[string]T{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		var v T
		if err := dec.Decode(&v); err != nil {
			return err
		}
		key, _ := t.(string) // a key always is one
		if _, twice := o.values[key]; !twice {
			o.keys = append(o.keys, key)
		}
		o.values[key] = v
	}
	return nil
}

// resolve follows a schema's reference; nil where it leads nowhere.
func (d *document) resolve(s *schema) *schema {
	for range 10 { // no longer chain is meant, and a ring ends
		if s == nil || s.Ref == "" {
			return s
		}
		s = d.Components.Schemas.values[refName(s.Ref)]
	}
	return nil
}

// refName is the last element of a reference.
func refName(ref string) string {
	name := ref[strings.LastIndexByte(ref, '/')+1:]
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
}

func (d *document) parameter(p parameter) parameter {
	if p.Ref != "" {
		return d.Components.Parameters[refName(p.Ref)]
	}
	return p
}

func (d *document) body(b *body) *body {
	if b != nil && b.Ref != "" {
		found, ok := d.Components.RequestBodies[refName(b.Ref)]
		if !ok {
			return nil
		}
		return &found
	}
	return b
}

func (d *document) response(r response) response {
	if r.Ref != "" {
		return d.Components.Responses[refName(r.Ref)]
	}
	return r
}
