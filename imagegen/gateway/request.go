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

// generation takes a request without references.
func (g *Gateway) generation(w http.ResponseWriter, r *http.Request, caller string) *failure {
	leave, f := g.admit(caller)
	if f != nil {
		return f
	}
	defer leave()
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		return problem(415, "unsupported_media_type", "want Content-Type: application/json")
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
			return problem(400, "invalid_type", kind.Field+" is a "+kind.Value).param(kind.Field)
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

// edit takes a request with references. Its parts stream into the store.
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
		return problem(415, "unsupported_media_type", "want Content-Type: multipart/form-data with a boundary")
	}
	var t Task
	fields := map[string]string{}
	digest := sha256.New()
	keep := false
	defer func() {
		if !keep {
			g.deleteBlobs(context.WithoutCancel(r.Context()), t.References)
		}
	}()
	for {
		part, err := form.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return unreadable(err)
		}
		name := part.FormName()
		if part.FileName() == "" && name != "image[]" {
			if !slices.Contains(formFields, name) {
				continue // as in JSON, and without holding it
			}
			value, err := io.ReadAll(io.LimitReader(part, int64(limits.PromptBytes)+1))
			if err != nil {
				return unreadable(err)
			}
			if len(value) > limits.PromptBytes {
				return problem(400, "too_long", fmt.Sprintf("%s has more than %d bytes", name, limits.PromptBytes)).param(name)
			}
			if _, twice := fields[name]; twice {
				return problem(400, "repeated", name+" comes twice").param(name)
			}
			fields[name] = string(value)
			continue
		}
		if name != "image[]" {
			return problem(400, "unknown_file", fmt.Sprintf("file part %q: reference images are called image[]", name)).param(name)
		}
		if len(t.References) == limits.References {
			return problem(400, "too_many_images", fmt.Sprintf("more than %d reference images", limits.References)).param(name)
		}
		ref, f := g.receive(r.Context(), part, digest)
		if f != nil {
			return f
		}
		t.References = append(t.References, ref)
	}
	if len(t.References) == 0 {
		return problem(400, "missing", "an edit needs at least one image[] file part").param("image[]")
	}
	t.Model, t.Prompt = fields["model"], fields["prompt"]
	if f := g.check(&t, fields["n"], fields["size"]); f != nil {
		return f
	}
	keep = true // accept takes them over
	return g.accept(w, r, caller, t, digest.Sum(nil), leave)
}

// receive streams one reference into the store.
func (g *Gateway) receive(ctx context.Context, part *multipart.Part, digest io.Writer) (Blob, *failure) {
	kind, _, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(kind, "image/") {
		return Blob{}, problem(400, "not_an_image", "each image[] part needs a content type such as image/png").param("image[]")
	}
	ref := Blob{Name: refPrefix + uuid.Must(uuid.NewV7()).String(), File: path.Base(strings.ReplaceAll(part.FileName(), "\\", "/")), Type: kind}
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
		f = problem(413, "too_large", fmt.Sprintf("a reference image has more than %d bytes", g.c.Limits.ReferenceBytes)).param("image[]")
	case ref.Size == 0:
		f = problem(400, "not_an_image", "a reference image is empty").param("image[]")
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

// reading keeps the reader's error apart from the writer's.
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

// unreadable is a body that broke off, or one that is too large.
func unreadable(err error) *failure {
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return problem(413, "too_large", fmt.Sprintf("the body has more than %d bytes", large.Limit))
	}
	return problem(400, "unreadable", "the body broke off, or is malformed")
}

// check checks the parameters both endpoints have.
func (g *Gateway) check(t *Task, n, size string) *failure {
	limits := g.c.Limits
	switch {
	case strings.TrimSpace(t.Prompt) == "":
		return problem(400, "missing", "prompt is missing").param("prompt")
	case len(t.Prompt) > limits.PromptBytes:
		return problem(400, "too_long", fmt.Sprintf("prompt has more than %d bytes", limits.PromptBytes)).param("prompt")
	case g.c.Model != "" && t.Model != "" && t.Model != g.c.Model:
		return problem(400, "unknown_model", "model: want "+g.c.Model).param("model")
	}
	if n != "" {
		count, err := strconv.Atoi(n)
		if err != nil || count < 1 || count > limits.Images {
			return problem(400, "out_of_range", fmt.Sprintf("n: want a whole number from 1 to %d", limits.Images)).param("n")
		}
		t.N = count
	}
	if size != "" {
		ratio, err := imagegen.ParseRatio(size)
		if err != nil {
			return problem(400, "invalid_size", err.Error()).param("size")
		}
		t.Size = ratio
	}
	return nil
}

// accept makes a task of a request and answers as the mode says. refs is the digest of its references.
func (g *Gateway) accept(w http.ResponseWriter, r *http.Request, caller string, t Task, refs []byte, leave func()) *failure {
	// what has been accepted stays accepted when the caller leaves
	ctx := context.WithoutCancel(r.Context())
	t.ID, t.Caller, t.State, t.Created = uuid.Must(uuid.NewV7()).String(), caller, imagegen.StatePending, g.c.Now()
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		if len(key) > 255 {
			g.deleteBlobs(ctx, t.References)
			return problem(400, "too_long", "Idempotency-Key has more than 255 bytes").param("Idempotency-Key")
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

// create stores a new task and queues it, or finds the one that the same request made before. That one is carried out again if it
// failed before anything was generated.
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
				g.end(t.ID) // it has ended before
			}
			if !same {
				return nil, problem(409, "key_reused", "this Idempotency-Key was used for another request").param("Idempotency-Key")
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

// digestOf is a hash of strings that keeps them apart.
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
