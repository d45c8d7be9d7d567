package imagegen

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
)

// DefaultModel is the model named by the interface.
const DefaultModel = "svc-image-2"

// Request describes the images to generate. Fields with their zero value are not sent. A call does
// not change the Request, which may be used again.
type Request struct {
	Model  string // defaults to [Config].Model
	Prompt string // required; should not repeat the ratio
	N      int    // number of images; 0 lets the service choose
	Size   Ratio  // empty lets the service choose

	// References are reference images. A request with references is sent to the edit endpoint, as a
	// multipart form.
	References []Reference

	// Extra contains further parameters by name, for services that accept more than the interface.
	// In a form, values other than strings are written as JSON. The names of the fields above are
	// refused.
	Extra map[string]any
}

// LogValue implements [slog.LogValuer]: the sizes and choices, without the prompt.
func (r *Request) LogValue() slog.Value {
	return slog.GroupValue(slog.String("model", r.Model), slog.Int("n", r.N), slog.String("size", string(r.Size)),
		slog.Int("prompt_bytes", len(r.Prompt)), slog.Int("references", len(r.References)))
}

func (r *Request) check(limits Limits) error {
	switch {
	case r.Prompt == "":
		return fmt.Errorf("%w: the prompt is empty", ErrInvalidRequest)
	case r.N < 0:
		return fmt.Errorf("%w: n is %d", ErrInvalidRequest, r.N)
	case len(r.References) > limits.References:
		return fmt.Errorf("%w: %d reference images, at most %d", ErrInvalidRequest, len(r.References),
			limits.References)
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

// form returns the value as it is written in a form.
func (f field) form() string {
	switch v := f.value.(type) {
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	}
	text, _ := json.Marshal(f.value) // succeeded in fields
	return string(text)
}

// jsonBody returns the JSON object for fields.
func jsonBody(fields []field) ([]byte, error) {
	object := map[string]any{}
	for _, f := range fields {
		object[f.name] = f.value
	}
	return json.Marshal(object)
}
