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
	"io/fs"
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

	maxOriginal = 255 // bytes of the file name of a reference, which is stored with the task
)

func (g *Gateway) generation(w http.ResponseWriter, r *http.Request, caller string) *failure {
	done, f := g.upload(caller)
	if f != nil {
		return f
	}
	defer done()
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
	task, f := p.check()
	if f != nil {
		return f
	}
	return g.accept(w, r, caller, task, p, "", done)
}

// edit handles a request with references. Its files stream into the store.
func (g *Gateway) edit(w http.ResponseWriter, r *http.Request, caller string) *failure {
	done, f := g.upload(caller)
	if f != nil {
		return f
	}
	defer done()
	limit := min(maxReferences*(maxReferenceBytes+4096), g.c.Files.limit/4) + maxJSON
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	form, err := r.MultipartReader()
	if err != nil {
		return problem(415, "unsupported_media_type", "the content type must be multipart/form-data with a boundary")
	}
	digest := sha256.New()
	p, references, f := g.readForm(form, digest)
	var task Params
	if f == nil {
		task, f = p.check()
	}
	if f != nil {
		g.c.Files.remove(references)
		return f
	}
	task.References = references
	return g.accept(w, r, caller, task, p, string(digest.Sum(nil)), done)
}

// readForm returns the parameters of a form, and its references, even if it fails. It adds the
// references to digest.
func (g *Gateway) readForm(form *multipart.Reader, digest io.Writer) (p parameters, references []File, f *failure) {
	p = parameters{}
	for {
		part, err := form.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, references, unreadable(err)
		}
		name := part.FormName()
		isReference := name == "image" || name == "image[]"
		switch {
		case part.FileName() == "" && ignored(name):
		case part.FileName() == "" && !isReference:
			f = p.readField(part)
		case !isReference:
			f = invalid(400, name, "unknown_file",
				"unknown file %q: only reference images are supported, named image or image[]", shorten(name))
		case len(references) == maxReferences:
			f = invalid(400, name, "too_many_images", "more than %d reference images", maxReferences)
		default:
			var ref File
			if ref, f = g.receive(part, digest); f == nil {
				references = append(references, ref)
			}
		}
		if f != nil {
			return nil, references, f
		}
	}
	if len(references) == 0 {
		return nil, nil, invalid(400, "image", "missing", "an edit needs at least one file named image or image[]")
	}
	return p, references, nil
}

// receive streams one reference into Files, and adds its type and hash to digest.
func (g *Gateway) receive(part *multipart.Part, digest io.Writer) (File, *failure) {
	param := part.FormName()
	original := path.Base(strings.ReplaceAll(part.FileName(), "\\", "/"))
	original = strings.ToValidUTF8(original[max(0, len(original)-maxOriginal):], "") // with its extension
	ref := File{Name: referencePrefix + uuid.NewString(), Original: original}
	body := bufio.NewReader(part)
	if ref.Type, _, _ = mime.ParseMediaType(part.Header.Get("Content-Type")); !isImage(ref.Type) {
		head, _ := body.Peek(sniffBytes) // an error is found again by reading
		ref.Type = imagegen.DetectType(head)
	}
	file, err := g.c.Files.create(temporaryPrefix, ref.Name)
	if err != nil {
		return File{}, internal(err)
	}
	hash := sha256.New()
	ref.Size, err = io.Copy(io.MultiWriter(file, hash), io.LimitReader(body, maxReferenceBytes+1))
	_, onDisk := errors.AsType[*fs.PathError](err)
	var f *failure
	switch {
	case ref.Size > maxReferenceBytes:
		f = invalid(413, param, "too_large", "a reference image has more than %d bytes", maxReferenceBytes)
	case errors.Is(err, errFull):
		f = problem(503, codeFull, err.Error()).after(retryLater)
	case onDisk:
		f = internal(err)
	case err != nil:
		f = unreadable(err)
	case ref.Size == 0:
		f = invalid(400, param, "not_an_image", "a reference image is empty")
	case !isImage(ref.Type):
		f = invalid(400, param, "not_an_image", "file %q is not an image", shorten(original))
	}
	if f != nil {
		f.cause = errors.Join(f.cause, file.Abort())
		return File{}, f
	}
	if err := file.Commit(); err != nil {
		return File{}, internal(err)
	}
	fmt.Fprintf(digest, "%s %x\n", ref.Type, hash.Sum(nil))
	return ref, nil
}

func isImage(mediaType string) bool { return strings.HasPrefix(mediaType, "image/") }

// unreadable is the failure of a body that broke off or is too large.
func unreadable(err error) *failure {
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return problem(413, "too_large", fmt.Sprintf("the body has more than %d bytes", large.Limit))
	}
	return problem(400, "unreadable", "the body is incomplete or malformed")
}

// accept adds a task for a request and responds according to the mode. references is a digest of
// those of the request.
func (g *Gateway) accept(
	w http.ResponseWriter, r *http.Request, caller string, task Params, p parameters, references string, done func(),
) *failure {
	if size := p["size"]; size != string(task.Size) {
		w.Header().Set("Image-Ratio", cmp.Or(string(task.Size), size))
	}
	task.Caller = caller
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		task.Key = digestOf(caller, key, task.Model, task.Prompt, strconv.Itoa(task.N), string(task.Size), task.Format,
			references)
	}
	// a request that has been accepted is performed even if the caller disconnects
	ctx := context.WithoutCancel(r.Context())
	id, added, err := g.c.Tasks.Add(ctx, task)
	done()
	if !added {
		g.c.Files.remove(task.References)
	}
	switch {
	case errors.Is(err, ErrTooMany):
		return problem(429, "too_many_tasks", err.Error()).after(retryLater)
	case errors.Is(err, ErrQueueFull):
		return problem(503, "queue_full", err.Error()).after(retryLater)
	case err != nil:
		return internal(err)
	}
	return g.reply(w, r, id, p["response_format"] == "url")
}

// digestOf returns a hash of strings that depends on their boundaries.
func digestOf(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s,", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}
