package gateway

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"mime/multipart"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"lessonkit.example/imagegen"
)

// parameters are the parameters of a request by name, whether it is JSON or a form. Absent, null
// and empty are the same.
type parameters map[string]string

// accepted returns the values that a parameter may have, nil if they are checked elsewhere. Besides
// the parameters of the interface there are those of OpenAI's clients. All others are refused, so
// that no caller pays for images other than those requested.
func accepted(name string) (values []string, known bool) {
	switch name {
	case "model", "prompt", "n", "size", "output_compression":
		return nil, true
	case "background", "moderation", "quality":
		return []string{"auto"}, true
	case "output_format":
		return []string{"png", "jpeg"}, true
	case "partial_images":
		return []string{"0"}, true
	case "response_format":
		return []string{"b64_json", "url"}, true
	case "stream":
		return []string{"false"}, true
	}
	return nil, false
}

// set sets a parameter that is known and has an accepted value.
func (p parameters) set(name, value string) *failure {
	values, known := accepted(name)
	switch {
	case !known:
		return invalid(400, name, "unknown_parameter", "unsupported parameter %q", shorten(name))
	case name == "stream" && value == "true":
		return invalid(400, name, "unsupported_value",
			"there is no stream of events: the response comes once, with the images or with a task to poll; "+
				"set stream to false, or leave it out")
	case value != "" && values != nil && !slices.Contains(values, value):
		return invalid(400, name, "unsupported_value", "unsupported value of %s: use %s, or leave it out", name,
			strings.Join(values, " or "))
	}
	p[name] = value
	return nil
}

// ignored reports whether a parameter does not affect the images: the interface ignores image_urls,
// and the others identify the end user to OpenAI.
func ignored(name string) bool {
	return name == "image_urls" || name == "user" || name == "safety_identifier"
}

func jsonParameters(data []byte) (parameters, *failure) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil || object == nil {
		return nil, problem(400, "invalid_json", "the body is not a JSON object")
	}
	p := parameters{}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		raw := object[name]
		var f *failure
		switch kind := jsonType(raw); {
		case ignored(name), kind == "null":
		case kind == "string":
			var text string
			_ = json.Unmarshal(raw, &text) // raw is valid
			f = p.set(name, text)
		case kind == "array", kind == "object", name == "model", name == "prompt", name == "size":
			f = invalid(400, name, "invalid_type", "%q must not be of type %s", shorten(name), kind)
		default:
			f = p.set(name, string(raw))
		}
		if f != nil {
			return nil, f
		}
	}
	return p, nil
}

func jsonType(raw json.RawMessage) string {
	types := map[byte]string{'"': "string", '[': "array", '{': "object", 'n': "null", 't': "boolean", 'f': "boolean"}
	return cmp.Or(types[raw[0]], "number")
}

func (p parameters) readField(part *multipart.Part) *failure {
	name := part.FormName()
	value, err := io.ReadAll(io.LimitReader(part, maxPromptBytes+1))
	if err != nil {
		return unreadable(err)
	}
	if len(value) > maxPromptBytes {
		return invalid(400, name, "too_long", "%q has more than %d bytes", shorten(name), maxPromptBytes)
	}
	if _, duplicate := p[name]; duplicate {
		return invalid(400, name, "repeated", "duplicate field %q", name)
	}
	return p.set(name, string(value))
}

const maxName = 64 // bytes of a name or value that is repeated to the caller

func shorten(s string) string { return s[:min(len(s), maxName)] }

// check returns the request that the parameters are.
func (p parameters) check() (Params, *failure) {
	t := Params{Model: p["model"], Prompt: p["prompt"], Format: p["output_format"]}
	switch {
	case strings.TrimSpace(t.Prompt) == "":
		return t, invalid(400, "prompt", "missing", "prompt is missing")
	case strings.ContainsRune(t.Prompt, utf8.RuneError):
		return t, invalid(400, "prompt", "not_utf8", "prompt is not UTF-8, or has U+FFFD in place of what was not")
	case len(t.Prompt) > maxPromptBytes:
		return t, invalid(400, "prompt", "too_long", "prompt has more than %d bytes", maxPromptBytes)
	case len(t.Model) > maxModel:
		return t, invalid(400, "model", "too_long", "model has more than %d bytes", maxModel)
	}
	if n := p["n"]; n != "" {
		count, err := strconv.Atoi(n)
		if err != nil || count < 1 || count > maxImages {
			return t, invalid(400, "n", "out_of_range", "n must be an integer from 1 to %d", maxImages)
		}
		t.N = count
	}
	// PNG is always compressed without loss, and 100 is the default of other formats.
	if c := p["output_compression"]; c != "" && c != "100" {
		if percent, err := strconv.Atoi(c); err != nil || percent < 0 || percent > 100 || t.Format != "png" {
			return t, invalid(400, "output_compression", "unsupported_value", "unsupported value of "+
				"output_compression: use 100, or 0 to 100 with the output_format png, which it does not change, or "+
				"leave it out")
		}
	}
	var ok bool
	if t.Size, ok = ratio(p["size"]); !ok {
		_, err := imagegen.ParseRatio(shorten(p["size"]))
		return t, invalid(400, "size", "invalid_size", "%v, a size in pixels such as 1536x1024, or auto", err)
	}
	return t, nil
}

const (
	maxModel = 256     // bytes of the name of a model
	maxEdge  = 1 << 15 // pixels
)

// ratio returns the ratio for a size: that ratio itself, the one nearest to a size in pixels, or ""
// if the generator may choose.
func ratio(size string) (imagegen.Ratio, bool) {
	if size == "" || size == "auto" {
		return "", true
	}
	if r, err := imagegen.ParseRatio(size); err == nil {
		return r, true
	}
	left, right, _ := strings.Cut(size, "x")
	w, errW := strconv.ParseUint(left, 10, 64)
	h, errH := strconv.ParseUint(right, 10, 64)
	if errW != nil || errH != nil || w < 1 || h < 1 || w > maxEdge || h > maxEdge {
		return "", false
	}
	return imagegen.NearestRatio(int(w), int(h)), true
}
