package imagegen

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"unicode/utf8"
)

// DefaultModel is the model named by the interface.
const DefaultModel = "svc-image-2"

// Request describes the images to generate. Fields with their zero value are not sent. A call does
// not change the Request, which may be used again.
type Request struct {
	Model  string // defaults to [DefaultModel]
	Prompt string // required; should not repeat the ratio
	N      int    // number of images; 0 lets the service choose
	Size   Ratio  // empty lets the service choose

	// References are reference images, at most 16 of at most 50 MB each. A request with references
	// is sent to the edit endpoint, as a multipart form.
	References []Reference

	// IdempotencyKey, if not empty, is sent in the header Idempotency-Key. Set it, to one UUID for
	// each generation, only for a service that honors it, as package gateway does: a request that
	// was sent again with its key, by a retry or by another process, is generated and charged once.
	// Other services ignore it and charge each request. At most 255 printable ASCII characters.
	IdempotencyKey string
}

// LogValue implements [slog.LogValuer]: the sizes and choices, without the prompt.
func (r *Request) LogValue() slog.Value {
	return slog.GroupValue(slog.String("model", r.Model), slog.Int("n", r.N), slog.String("size", string(r.Size)),
		slog.Int("prompt_bytes", len(r.Prompt)), slog.Int("references", len(r.References)))
}

// notToken reports whether c does not belong into a header as part of a key or media type.
func notToken(c rune) bool { return c <= ' ' || c >= 0x7f }

func (r *Request) check() error {
	switch {
	case r == nil:
		return fmt.Errorf("%w: it is nil", ErrInvalidRequest)
	case r.Prompt == "":
		return fmt.Errorf("%w: the prompt is empty", ErrInvalidRequest)
	case !utf8.ValidString(r.Prompt):
		return fmt.Errorf("%w: the prompt is not UTF-8", ErrInvalidRequest)
	case r.N < 0:
		return fmt.Errorf("%w: n is %d", ErrInvalidRequest, r.N)
	case len(r.References) > maxReferences:
		return fmt.Errorf("%w: %d reference images, at most %d", ErrInvalidRequest, len(r.References), maxReferences)
	}
	if len(r.IdempotencyKey) > 255 || strings.ContainsFunc(r.IdempotencyKey, notToken) {
		return fmt.Errorf("%w: the idempotency key is not at most 255 printable ASCII characters", ErrInvalidRequest)
	}
	if r.Size != "" {
		if _, err := ParseRatio(string(r.Size)); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalidRequest, err)
		}
	}
	return nil
}

func (r *Request) json() []byte {
	data, _ := json.Marshal(struct { // strings and a number do not fail
		Model  string `json:"model"`
		Prompt string `json:"prompt"`
		N      int    `json:"n,omitempty"`
		Size   Ratio  `json:"size,omitempty"`
	}{cmp.Or(r.Model, DefaultModel), r.Prompt, r.N, r.Size})
	return data
}
