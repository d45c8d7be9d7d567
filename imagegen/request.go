package imagegen

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
)

// DefaultModel is the model the interface names.
const DefaultModel = "svc-image-2"

// Request is what to generate. It is plain data: fields left at zero are left out of what is sent. It is not changed by a call,
// and may be used again unless a reference comes from a reader.
type Request struct {
	Model  string // defaults to [Config].Model
	Prompt string // required; do not repeat the ratio in it
	N      int    // number of images; 0 leaves it to the service
	Size   Ratio  // empty leaves it to the service

	// Refs are reference images. With any, the request goes to the edit endpoint as a multipart form.
	Refs []Ref

	// Extra are further parameters by name, for services that know more than the interface. In a form, values other than strings
	// are written as JSON. The names of the fields above are refused.
	Extra map[string]any
}

// LogValue implements [slog.LogValuer]: sizes and choices, not the prompt.
func (r *Request) LogValue() slog.Value {
	return slog.GroupValue(slog.String("model", r.Model), slog.Int("n", r.N), slog.String("size", string(r.Size)),
		slog.Int("prompt_bytes", len(r.Prompt)), slog.Int("refs", len(r.Refs)))
}

func (r *Request) check(limits Limits) error {
	switch {
	case r.Prompt == "":
		return fmt.Errorf("%w: the prompt is empty", ErrInvalidRequest)
	case r.N < 0:
		return fmt.Errorf("%w: n is %d", ErrInvalidRequest, r.N)
	case len(r.Refs) > limits.Refs:
		return fmt.Errorf("%w: %d reference images, at most %d", ErrInvalidRequest, len(r.Refs), limits.Refs)
	}
	if r.Size != "" {
		if _, err := ParseRatio(string(r.Size)); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalidRequest, err)
		}
	}
	for name := range r.Extra {
		switch name {
		case "model", "prompt", "n", "size", "image", "image[]":
			return fmt.Errorf("%w: extra parameter %q is a field of the request", ErrInvalidRequest, name)
		}
	}
	return nil
}

// fields returns the parameters that are set, in the order they are sent.
func (r *Request) fields(model string) ([]field, error) {
	if r.Model != "" {
		model = r.Model
	}
	all := []field{{"model", model}, {"prompt", r.Prompt}}
	if r.N > 0 {
		all = append(all, field{"n", r.N})
	}
	if r.Size != "" {
		all = append(all, field{"size", string(r.Size)})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Extra)) {
		if _, err := json.Marshal(r.Extra[name]); err != nil {
			return nil, fmt.Errorf("%w: extra parameter %q: %w", ErrInvalidRequest, name, err)
		}
		all = append(all, field{name, r.Extra[name]})
	}
	return all, nil
}

type field struct {
	name  string
	value any
}

// form returns the value as a form writes it.
func (f field) form() string {
	switch v := f.value.(type) {
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	}
	text, _ := json.Marshal(f.value) // has been tried
	return string(text)
}

// body returns the JSON document for fields.
func body(fields []field) ([]byte, error) {
	object := map[string]any{}
	for _, f := range fields {
		object[f.name] = f.value
	}
	return json.Marshal(object)
}
