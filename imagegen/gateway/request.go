package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"lessonkit.example/imagegen"
)

const (
	maxJSON   = 1 << 20
	refPrefix = "ref-" // of the names of stored references
)

// generation handles a request without references.
func (g *Gateway) generation(w http.ResponseWriter, r *http.Request, caller string) *failure {
	leave, f := g.admit(caller)
	if f != nil {
		return f
	}
	defer leave()
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		return problem(415, "unsupported_media_type", "the content type must be application/json")
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxJSON))
	if err != nil {
		return unreadable(err)
	}
	var body struct {
		Model  string      `json:"model"`
		Prompt string      `json:"prompt"`
		N      json.Number `json:"n"`
		Size   string      `json:"size"`
	}
	if err := json.Unmarshal(data, &body); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) && kind.Field != "" {
			return invalid(400, kind.Field, "invalid_type", "%s must not be a %s", kind.Field, kind.Value)
		}
		return problem(400, "invalid_json", "the body is not a JSON object")
	}
	t := Task{Model: body.Model, Prompt: body.Prompt}
	if f := g.check(&t, body.N.String(), body.Size); f != nil {
		return f
	}
	return g.accept(w, r, caller, t, nil, leave)
}

var formFields = []string{"model", "prompt", "n", "size"}

// edit handles a request with references. Its files stream into the store.
func (g *Gateway) edit(w http.ResponseWriter, r *http.Request, caller string) *failure {
	leave, f := g.admit(caller)
	if f != nil {
		return f
	}
	defer leave()
	limits := g.c.Limits
	r.Body = http.MaxBytesReader(w, r.Body, int64(limits.References)*(limits.ReferenceBytes+4096)+maxJSON)
	form, err := r.MultipartReader()
	if err != nil {
		return problem(415, "unsupported_media_type", "the content type must be multipart/form-data with a boundary")
	}
	var t Task
	digest := sha256.New()
	fields, f := g.readForm(r.Context(), form, &t, digest)
	if f == nil {
		t.Model, t.Prompt = fields["model"], fields["prompt"]
		f = g.check(&t, fields["n"], fields["size"])
	}
	if f != nil {
		g.deleteBlobs(context.WithoutCancel(r.Context()), t.References)
		return f
	}
	return g.accept(w, r, caller, t, digest.Sum(nil), leave)
}

// readForm returns the text fields of a form, and adds its references to t, even if it fails.
func (g *Gateway) readForm(
	ctx context.Context, form *multipart.Reader, t *Task, digest io.Writer,
) (map[string]string, *failure) {
	limits := g.c.Limits
	fields := map[string]string{}
	for {
		part, err := form.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, unreadable(err)
		}
		name := part.FormName()
		switch {
		case part.FileName() == "" && slices.Contains(formFields, name):
			value, err := io.ReadAll(io.LimitReader(part, int64(limits.PromptBytes)+1))
			if err != nil {
				return nil, unreadable(err)
			}
			if len(value) > limits.PromptBytes {
				return nil, invalid(400, name, "too_long", "%s has more than %d bytes", name, limits.PromptBytes)
			}
			if _, duplicate := fields[name]; duplicate {
				return nil, invalid(400, name, "repeated", "duplicate field %s", name)
			}
			fields[name] = string(value)
		case part.FileName() == "" && name != "image[]":
			// ignored, as in JSON
		case name != "image[]":
			return nil, invalid(400, name, "unknown_file", "unknown file %q: reference images are named image[]", name)
		case len(t.References) == limits.References:
			return nil, invalid(400, name, "too_many_images", "more than %d reference images", limits.References)
		default:
			ref, f := g.receive(ctx, part, digest)
			if f != nil {
				return nil, f
			}
			t.References = append(t.References, ref)
		}
	}
	if len(t.References) == 0 {
		return nil, invalid(400, "image[]", "missing", "an edit needs at least one image[] file part")
	}
	return fields, nil
}

// receive streams one reference into the store, and adds its hash to digest.
func (g *Gateway) receive(ctx context.Context, part *multipart.Part, digest io.Writer) (Blob, *failure) {
	kind, _, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(kind, "image/") {
		return Blob{}, invalid(400, "image[]", "not_an_image", "each image[] needs a content type such as image/png")
	}
	file := path.Base(strings.ReplaceAll(part.FileName(), "\\", "/"))
	ref := Blob{Name: refPrefix + uuid.Must(uuid.NewV7()).String(), File: file, Type: kind}
	b, err := g.c.Store.CreateBlob(ctx, ref.Name)
	if err != nil {
		return Blob{}, internal(err)
	}
	own := sha256.New()
	source := &reading{r: io.LimitReader(part, g.c.Limits.ReferenceBytes+1)}
	ref.Size, err = io.Copy(io.MultiWriter(b, own), source)
	var f *failure
	switch {
	case source.err != nil:
		f = unreadable(source.err)
	case err != nil:
		f = internal(err)
	case ref.Size > g.c.Limits.ReferenceBytes:
		f = invalid(413, "image[]", "too_large", "a reference image has more than %d bytes", g.c.Limits.ReferenceBytes)
	case ref.Size == 0:
		f = invalid(400, "image[]", "not_an_image", "a reference image is empty")
	}
	if f != nil {
		if err := b.Abort(); err != nil {
			f.cause = errors.Join(f.cause, err)
		}
		return Blob{}, f
	}
	if err := b.Commit(); err != nil {
		return Blob{}, internal(err)
	}
	fmt.Fprintf(digest, "%s %x\n", kind, own.Sum(nil))
	return ref, nil
}

// reading keeps the error of the reader apart from that of the writer.
type reading struct {
	r   io.Reader
	err error
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// unreadable is the failure of a body that broke off or is too large.
func unreadable(err error) *failure {
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return problem(413, "too_large", fmt.Sprintf("the body has more than %d bytes", large.Limit))
	}
	return problem(400, "unreadable", "the body is incomplete or malformed")
}

// check checks the parameters common to both endpoints, and sets them in t.
func (g *Gateway) check(t *Task, n, size string) *failure {
	limits := g.c.Limits
	switch {
	case strings.TrimSpace(t.Prompt) == "":
		return invalid(400, "prompt", "missing", "prompt is missing")
	case len(t.Prompt) > limits.PromptBytes:
		return invalid(400, "prompt", "too_long", "prompt has more than %d bytes", limits.PromptBytes)
	case g.c.Model != "" && t.Model != "" && t.Model != g.c.Model:
		return invalid(400, "model", "unknown_model", "unknown model; use %s", g.c.Model)
	}
	if n != "" {
		count, err := strconv.Atoi(n)
		if err != nil || count < 1 || count > limits.Images {
			return invalid(400, "n", "out_of_range", "n must be an integer from 1 to %d", limits.Images)
		}
		t.N = count
	}
	if size != "" {
		ratio, err := imagegen.ParseRatio(size)
		if err != nil {
			return invalid(400, "size", "invalid_size", "%v", err)
		}
		t.Size = ratio
	}
	return nil
}

// accept creates a task for a request and responds according to the mode. refs is the digest of its
// references.
func (g *Gateway) accept(
	w http.ResponseWriter, r *http.Request, caller string, t Task, refs []byte, leave func(),
) *failure {
	// a request that has been accepted is carried out even if the caller disconnects
	ctx := context.WithoutCancel(r.Context())
	t.ID, t.Caller, t.State, t.Created = uuid.Must(uuid.NewV7()).String(), caller, imagegen.StatePending, now()
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		if len(key) > 255 {
			g.deleteBlobs(ctx, t.References)
			return invalid(400, "Idempotency-Key", "too_long", "Idempotency-Key has more than 255 bytes")
		}
		t.ID = digestOf(caller, key)
		t.Digest = digestOf(t.Model, t.Prompt, strconv.Itoa(t.N), string(t.Size), string(refs))
	}
	j, f := g.create(ctx, t)
	leave()
	if f != nil {
		return f
	}
	return g.reply(w, r, t.ID, j)
}

// create stores and queues a new task, or finds the one of an earlier equal request. It runs that
// one again if it failed before anything was generated.
func (g *Gateway) create(ctx context.Context, t Task) (*job, *failure) {
	if t.Digest != "" {
		g.keyed.Lock()
		defer g.keyed.Unlock()
	}
	j, fresh := g.begin(t)
	err := g.c.Store.CreateTask(ctx, t)
	if errors.Is(err, ErrExists) {
		var old Task
		old, err = g.c.Store.Task(ctx, t.ID)
		same := old.Digest == t.Digest
		switch {
		case err == nil && same && fresh && old.Failure != nil && old.Failure.Code == codeUnavailable:
			err = g.c.Store.UpdateTask(ctx, t)
		case err == nil:
			g.deleteBlobs(ctx, t.References)
			if fresh {
				g.end(t.ID) // it ended earlier
			}
			if !same {
				return nil, invalid(409, "Idempotency-Key", "key_reused", "the key was used for another request")
			}
			return j, nil
		}
	}
	if err != nil {
		g.deleteBlobs(ctx, t.References)
		if fresh {
			g.end(t.ID)
		}
		return nil, internal(err)
	}
	g.enqueue(t.ID)
	return j, nil
}

// digestOf returns a hash of strings that depends on their boundaries.
func digestOf(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s,", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (g *Gateway) deleteBlobs(ctx context.Context, blobs []Blob) {
	for _, b := range blobs {
		if b.Name == "" {
			continue
		}
		if err := g.c.Store.DeleteBlob(ctx, b.Name); err != nil {
			g.c.Logger.Error("delete stored bytes", "blob", b.Name, "error", err)
		}
	}
}
