package docsui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"html/template"
	"regexp"
	"slices"
	"strings"
)

// reference is a document in the shape of the page.
type reference struct {
	Title, Version string
	Description    template.HTML
	Server         string
	Security       []string
	Groups         []*group
	Schemas        []schemaView
}

// group holds the operations of one tag.
type group struct {
	Name, ID    string
	Description template.HTML
	Operations  []operationView
}

type operationView struct {
	ID, Method, Path, Summary string
	Description               template.HTML
	Deprecated                bool
	Security                  string
	Parameters                []field
	Bodies                    []bodyView
	BodyText                  template.HTML
	Responses                 []responseView
	Curl                      string
}

// field is a line about a parameter, a header or a property.
type field struct {
	Name, In, Type, Link string
	Required             bool
	Text                 template.HTML
	Limits               []string
}

type bodyView struct {
	ContentType, Type, Link string
	Fields                  []field
	Sample                  string
}

type responseView struct {
	Status, Class, Text string
	Headers             []field
	Body                *bodyView // named beside the text
	Bodies              []bodyView
}

type schemaView struct {
	Name, Type string
	Text       template.HTML
	Limits     []string
	Fields     []field
}

// methods are those an OpenAPI path can have, in the order of the page.
var methods = []string{"get", "post", "put", "patch", "delete", "head", "options", "trace"}

// newReference arranges a document for the page. Origin is where the page was
// asked for: the server, unless the document names one.
func newReference(d *document, origin string) *reference {
	r := &reference{Title: d.Info.Title, Version: d.Info.Version, Description: prose(d.Info.Description), Server: origin}
	if len(d.Servers) > 0 && d.Servers[0].URL != "" {
		r.Server = strings.TrimRight(d.Servers[0].URL, "/")
		if strings.HasPrefix(r.Server, "/") || r.Server == "" {
			r.Server = origin + r.Server
		}
	}
	for _, name := range d.Components.SecuritySchemes.keys {
		s := d.Components.SecuritySchemes.values[name]
		text := name + ": " + strings.TrimSpace(s.Type+" "+s.Scheme)
		if s.Type == "apiKey" {
			text = name + ": " + s.In + " " + s.Name
		}
		if s.Description != "" {
			text += ". " + s.Description
		}
		r.Security = append(r.Security, text)
	}
	groups := map[string]*group{}
	for _, t := range d.Tags {
		groups[t.Name] = &group{Name: t.Name, ID: anchor("tag", t.Name), Description: prose(t.Description)}
		r.Groups = append(r.Groups, groups[t.Name])
	}
	for _, path := range d.Paths.keys {
		item := d.Paths.values[path]
		var shared []parameter
		_ = json.Unmarshal(item.values["parameters"], &shared) // none, or what the document's validator refuses
		for _, method := range methods {
			var op operation
			if raw, ok := item.values[method]; !ok || json.Unmarshal(raw, &op) != nil {
				continue
			}
			tag := "Other"
			if len(op.Tags) > 0 {
				tag = op.Tags[0]
			}
			if groups[tag] == nil {
				groups[tag] = &group{Name: tag, ID: anchor("tag", tag)}
				r.Groups = append(r.Groups, groups[tag])
			}
			op.Parameters = slices.Concat(shared, op.Parameters)
			groups[tag].Operations = append(groups[tag].Operations, d.view(r.Server, method, path, &op))
		}
	}
	r.Groups = slices.DeleteFunc(r.Groups, func(g *group) bool { return len(g.Operations) == 0 })
	for _, name := range d.Components.Schemas.keys {
		s := d.Components.Schemas.values[name]
		if s == nil {
			continue
		}
		text, _ := d.typeText(s)
		r.Schemas = append(r.Schemas, schemaView{Name: name, Type: text, Text: prose(s.Description), Limits: limits(s), Fields: d.fields(s)})
	}
	return r
}

// view arranges one operation.
func (d *document) view(server, method, path string, op *operation) operationView {
	v := operationView{
		ID: anchor("operation", method+" "+path), Method: strings.ToUpper(method), Path: path,
		Summary: op.Summary, Description: prose(op.Description), Deprecated: op.Deprecated,
	}
	if v.Summary == "" {
		v.Summary = path
	}
	security := d.Security
	if op.Security != nil {
		security = *op.Security
	}
	v.Security = strings.Join(schemeNames(security), " or ")
	for i, p := range op.Parameters {
		p = d.parameter(p)
		op.Parameters[i] = p
		f := d.field(p.Name, p.Schema, p.Required)
		f.In, f.Text = p.In, prose(cmp.Or(p.Description, descriptionOf(p.Schema)))
		v.Parameters = append(v.Parameters, f)
	}
	op.RequestBody = d.body(op.RequestBody)
	if op.RequestBody != nil {
		v.BodyText = prose(op.RequestBody.Description)
		v.Bodies = d.bodies(op.RequestBody.Content)
	}
	for _, status := range op.Responses.keys {
		resp := d.response(op.Responses.values[status])
		rv := responseView{Status: status, Class: "status-" + status[:min(1, len(status))], Text: resp.Description, Bodies: d.bodies(resp.Content)}
		if !strings.HasPrefix(status, "2") {
			d.shorten(&rv, resp.Content)
		}
		for _, name := range resp.Headers.keys {
			h := d.parameter(resp.Headers.values[name])
			f := d.field(name, h.Schema, false)
			f.Text = prose(cmp.Or(h.Description, descriptionOf(h.Schema)))
			rv.Headers = append(rv.Headers, f)
		}
		v.Responses = append(v.Responses, rv)
	}
	v.Curl = d.curl(server, v.Method, path, op, security)
	return v
}

// schemeNames lists the security schemes of which one is needed; none when the
// operation can do without.
func schemeNames(security []map[string][]string) []string {
	var names []string
	for _, alternative := range security {
		if len(alternative) == 0 {
			return nil
		}
		var together []string
		for name := range alternative {
			together = append(together, name)
		}
		slices.Sort(together)
		names = append(names, strings.Join(together, " and "))
	}
	return names
}

func (d *document) bodies(content ordered[media]) []bodyView {
	var out []bodyView
	for _, contentType := range content.keys {
		m := content.values[contentType]
		b := bodyView{ContentType: contentType}
		b.Type, b.Link = d.typeText(m.Schema)
		if m.Schema != nil && m.Schema.Ref == "" {
			b.Fields = d.fields(m.Schema)
		}
		if strings.Contains(contentType, "json") {
			b.Sample = indent(d.sampleOf(m))
		}
		out = append(out, b)
	}
	return out
}

// shorten leaves out of an error what its schema tells already: every operation
// has the same. One without anything else becomes a line.
func (d *document) shorten(v *responseView, content ordered[media]) {
	for i, contentType := range content.keys {
		m := content.values[contentType]
		if v.Bodies[i].Link != "" && m.Example == nil && len(m.Examples.keys) == 0 {
			v.Bodies[i].Sample = ""
		}
	}
	if len(v.Bodies) == 1 && v.Bodies[0].Sample == "" && v.Bodies[0].Link != "" {
		v.Body, v.Bodies = &v.Bodies[0], nil
	}
}

// sampleOf is a media type's example, or one made from its schema.
func (d *document) sampleOf(m media) json.RawMessage {
	if m.Example != nil {
		return readable(m.Example)
	}
	for _, k := range m.Examples.keys {
		if v := m.Examples.values[k].Value; v != nil {
			return readable(v)
		}
	}
	return readable(d.sample(m.Schema))
}

// unescape turns the escapes that Go's encoder writes for HTML back; the first
// pair keeps an escaped backslash from being taken for the beginning of one.
var unescape = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

func readable(raw json.RawMessage) json.RawMessage {
	return json.RawMessage(unescape.Replace(string(raw)))
}

func indent(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

func (d *document) fields(s *schema) []field {
	props, required := d.properties(s)
	var out []field
	for _, name := range props.keys {
		out = append(out, d.field(name, props.values[name], slices.Contains(required, name)))
	}
	return out
}

func (d *document) field(name string, s *schema, required bool) field {
	f := field{Name: name, Required: required, Text: prose(descriptionOf(s)), Limits: limits(s)}
	f.Type, f.Link = d.typeText(s)
	return f
}

func descriptionOf(s *schema) string {
	if s == nil {
		return ""
	}
	return s.Description
}

var notAnchor = regexp.MustCompile(`[^a-z0-9_]+`)

// anchor makes an identifier for a place on the page.
func anchor(kind, name string) string {
	return kind + "-" + strings.Trim(notAnchor.ReplaceAllString(strings.ToLower(name), "-"), "-")
}

var codeSpan = regexp.MustCompile("`([^`\n]+)`")

// prose shows a description: paragraphs at empty lines, code between backquotes.
// All else is text.
func prose(s string) template.HTML {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(strings.ReplaceAll(s, "\r\n", "\n"), "\n\n") {
		if paragraph = strings.TrimSpace(paragraph); paragraph != "" {
			b.WriteString("<p>" + codeSpan.ReplaceAllString(template.HTMLEscapeString(paragraph), "<code>$1</code>") + "</p>\n")
		}
	}
	return template.HTML(b.String())
}
