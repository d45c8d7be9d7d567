package gateway

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"lessonkit.example/imagegen"
)

const (
	maxJSON    = 1 << 20
	sniffBytes = 512
	refPrefix  = "ref-" // of the names of stored references
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
	p, f := jsonParameters(data)
	if f != nil {
		return f
	}
	var t Task
	if f := g.check(&t, p); f != nil {
		return f
	}
	return g.accept(w, r, caller, t, p, nil, leave)
}

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
	p, f := g.readForm(r.Context(), form, caller, &t, digest)
	if f == nil {
		f = g.check(&t, p)
	}
	if f != nil {
		g.deleteBlobs(context.WithoutCancel(r.Context()), caller, t.References)
		return f
	}
	return g.accept(w, r, caller, t, p, digest.Sum(nil), leave)
}

// readForm returns the parameters of a form, and adds its references to t, even if it fails.
func (g *Gateway) readForm(
	ctx context.Context, form *multipart.Reader, caller string, t *Task, digest io.Writer,
) (parameters, *failure) {
	limits := g.c.Limits
	p := parameters{}
	for {
		part, err := form.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, unreadable(err)
		}
		name := part.FormName()
		isReference := name == "image" || name == "image[]"
		switch {
		case part.FileName() == "" && ignored(name):
		case part.FileName() == "" && !isReference:
			if f := p.readField(part, limits.PromptBytes); f != nil {
				return nil, f
			}
		case !isReference:
			return nil, invalid(400, name, "unknown_file",
				"unknown file %q: only reference images are supported, named image or image[]",
				shorten(name))
		case len(t.References) == limits.References:
			return nil, invalid(400, name, "too_many_images", "more than %d reference images", limits.References)
		default:
			ref, f := g.receive(ctx, part, caller, bytesOf(t.References), digest)
			if f != nil {
				return nil, f
			}
			t.References = append(t.References, ref)
		}
	}
	if len(t.References) == 0 {
		return nil, invalid(400, "image", "missing", "an edit needs at least one file named image or image[]")
	}
	return p, nil
}

// receive streams one reference into the store, and adds its hash to digest. before is the size of
// the references of the same request that have been stored before.
func (g *Gateway) receive(
	ctx context.Context, part *multipart.Part, caller string, before int64, digest io.Writer,
) (Blob, *failure) {
	param := part.FormName()
	file := path.Base(strings.ReplaceAll(part.FileName(), "\\", "/"))
	ref := Blob{Name: refPrefix + uuid.Must(uuid.NewV7()).String(), File: file}
	body := bufio.NewReader(part)
	if ref.Type, _, _ = mime.ParseMediaType(part.Header.Get("Content-Type")); !isImage(ref.Type) {
		head, _ := body.Peek(sniffBytes) // an error is found again by reading
		ref.Type = imagegen.DetectType(head)
	}
	b, err := g.createBlob(ctx, caller, ref.Name)
	if err != nil {
		return Blob{}, internal(err)
	}
	own := sha256.New()
	most, inAll := g.c.Limits.ReferenceBytes, g.storage.shareOfReferences()
	limit := min(most, inAll-before)
	source := &reading{r: io.LimitReader(body, limit+1)}
	ref.Size, err = io.Copy(io.MultiWriter(b, own), source)
	var f *failure
	switch {
	case source.err != nil:
		f = unreadable(source.err)
	case source.n > most:
		f = invalid(413, param, "too_large", "a reference image has more than %d bytes", most)
	case source.n > limit:
		f = invalid(413, param, "too_large", "the reference images have more than %d bytes in all", inAll)
	case errors.Is(err, errShare):
		f = problem(429, "too_many_bytes", err.Error()).after(retryLater)
	case errors.Is(err, errFull):
		f = problem(503, codeFull, err.Error()).after(retryLater)
	case err != nil:
		f = internal(err)
	case ref.Size == 0:
		f = invalid(400, param, "not_an_image", "a reference image is empty")
	case !isImage(ref.Type):
		f = invalid(400, param, "not_an_image", "file %q is not an image", shorten(file))
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
	fmt.Fprintf(digest, "%s %x\n", ref.Type, own.Sum(nil))
	return ref, nil
}

func isImage(mediaType string) bool { return strings.HasPrefix(mediaType, "image/") }

// reading counts what is read, and keeps the error of the reader apart from that of the writer.
type reading struct {
	r   io.Reader
	n   int64
	err error
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.n += int64(n)
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

// accept creates a task for a request and responds according to the mode. refs is the digest of its
// references.
func (g *Gateway) accept(
	w http.ResponseWriter, r *http.Request, caller string, t Task, p parameters, refs []byte, leave func(),
) *failure {
	if size := p["size"]; size != string(t.Size) {
		w.Header().Set("Image-Ratio", cmp.Or(string(t.Size), size))
	}
	// a request that has been accepted is carried out even if the caller disconnects
	ctx := context.WithoutCancel(r.Context())
	t.ID, t.Caller, t.State, t.Created = uuid.Must(uuid.NewV7()).String(), caller, imagegen.StatePending, now()
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		if len(key) > 255 {
			g.deleteBlobs(ctx, t.Caller, t.References)
			return invalid(400, "Idempotency-Key", "too_long", "Idempotency-Key has more than 255 bytes")
		}
		t.ID = digestOf(caller, key)
		t.Digest = digestOf(t.Model, t.Prompt, strconv.Itoa(t.N), string(t.Size)+t.Format, string(refs))
	}
	j, f := g.create(ctx, t)
	leave()
	if f != nil {
		return f
	}
	return g.reply(w, r, t.ID, j, p["response_format"] == "url")
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
			g.storage.forget(t.ID)
			err = g.c.Store.UpdateTask(ctx, t)
		case err == nil:
			g.deleteBlobs(ctx, t.Caller, t.References)
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
		g.deleteBlobs(ctx, t.Caller, t.References)
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
