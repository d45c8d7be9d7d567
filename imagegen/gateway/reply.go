package gateway

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"lessonkit.example/imagegen"
)

// reply waits for a task according to the mode, and responds: with URLs of the images if urls is
// set, else with their data.
func (g *Gateway) reply(w http.ResponseWriter, r *http.Request, id string, urls bool) *failure {
	ctx := r.Context()
	if g.c.Mode == Auto {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, g.c.Budget)
		defer cancel()
	}
	find := g.c.Tasks.Wait
	if g.c.Mode == Async {
		find = g.c.Tasks.Task
	}
	t, err := find(ctx, id)
	if err != nil {
		return internal(err)
	}
	if g.c.Mode == Async || t.Ended.IsZero() {
		writeJSON(w, http.StatusOK, g.document(r, t))
		return nil
	}
	if t.Failure != nil {
		return t.Failure.answer()
	}
	if urls {
		w.Header().Set("Cache-Control", "no-store")
		writeJSON(w, http.StatusOK, t.response(func(name string) item { return item{URL: g.sign(r, name)} }))
		return nil
	}
	return g.data(w, t)
}

// response is the response to a request whose images are there.
type response struct {
	Created int64  `json:"created"`
	Data    []item `json:"data"`
	Usage   any    `json:"usage"`
	Format  string `json:"output_format,omitempty"`
}

// item is an image in a response, or why it is missing.
type item struct {
	Prompt string            `json:"revised_prompt,omitempty"`
	Base64 string            `json:"b64_json,omitempty"`
	URL    any               `json:"url,omitempty"`
	Error  map[string]string `json:"error,omitempty"`
}

func (t Task) response(image func(name string) item) response {
	return response{t.Ended.Unix(), t.items(image), t.usage(), t.format()}
}

// items returns an item for each image: what image returns for the name of its file.
func (t Task) items(image func(name string) item) []item {
	n := len(t.Images)
	for i := range t.Errors {
		n = max(n, i+1)
	}
	all := make([]item, n)
	for i := range all {
		if i < len(t.Images) && t.Images[i].Name != "" {
			all[i] = image(t.Images[i].Name)
			all[i].Prompt = t.Images[i].Prompt
			continue
		}
		message := cmp.Or(t.Errors[i], "the image was not generated")
		all[i].Error = map[string]string{"code": "failed", "message": message}
	}
	return all
}

// format returns the format of the images as OpenAI names it, or "" if it is not the same for all.
func (t Task) format() (format string) {
	for _, b := range t.Images {
		if b.Name == "" {
			continue
		}
		own := strings.TrimSuffix(strings.TrimPrefix(b.Type, "image/"), "+xml")
		if format != "" && own != format {
			return ""
		}
		format = own
	}
	return format
}

// answer returns the error response for a failed task. Only for a request that was not carried out
// is it 503, so that clients retry it.
func (f *Failure) answer() *failure {
	switch f.Code {
	case CodeUnavailable:
		return problem(503, f.Code, f.Message).after(max(f.RetryAfter, time.Second))
	case codeFull:
		return problem(507, f.Code, f.Message)
	case CodeInternal:
		return problem(500, f.Code, f.Message)
	case "failed", "interrupted":
		return problem(502, f.Code, f.Message)
	}
	return problem(422, f.Code, f.Message)
}

// data responds with image data. The images stream from the store; the length of the response is
// known before its first byte.
func (g *Gateway) data(w http.ResponseWriter, t Task) *failure {
	var readers []io.ReadCloser // readers[i] follows pieces[i]
	defer func() {
		for _, b := range readers {
			b.Close()
		}
	}()
	mark := rand.Text() // in place of image data
	doc, err := json.Marshal(t.response(func(string) item { return item{Base64: mark} }))
	if err != nil {
		return internal(err)
	}
	pieces := bytes.Split(doc, []byte(mark))
	length := int64(0)
	for _, p := range pieces {
		length += int64(len(p))
	}
	for _, image := range t.Images {
		if image.Name == "" {
			continue
		}
		b, err := g.c.Files.open(image.Name)
		if errors.Is(err, fs.ErrNotExist) {
			return problem(507, codeFull, "the images have been deleted already, to make room for others")
		}
		if err != nil {
			return internal(err)
		}
		readers = append(readers, b)
		length += int64(base64.StdEncoding.EncodedLen(int(image.Size)))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.FormatInt(length, 10))
	w.Header().Set("Cache-Control", "no-store")
	out := bufio.NewWriterSize(w, 64<<10)
	for i, p := range pieces {
		_, _ = out.Write(p) // Flush returns its error
		if i == len(readers) {
			break
		}
		encoder := base64.NewEncoder(base64.StdEncoding, out)
		_, err := io.Copy(encoder, readers[i])
		err = errors.Join(err, encoder.Close())
		if out.Flush() != nil {
			return nil // the caller has disconnected
		}
		if err != nil {
			g.c.Logger.Error("read stored image", "task", t.ID, "error", err)
			panic(http.ErrAbortHandler) // the status was sent: the caller only sees a cut connection
		}
	}
	_ = out.Flush()
	return nil
}

// usage returns what the generator reported, or else the one number the interface requires.
func (t Task) usage() any {
	if len(t.Usage) > 0 {
		return t.Usage
	}
	return map[string]any{"input_tokens_details": map[string]int{"image_tokens": 0}}
}

func (g *Gateway) task(w http.ResponseWriter, r *http.Request, caller string) *failure {
	t, err := g.c.Tasks.Task(r.Context(), r.PathValue("id"))
	if errors.Is(err, ErrNotFound) || err == nil && t.Caller != caller {
		return problem(404, "task_not_found", "no such task")
	}
	if err != nil {
		return internal(err)
	}
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusOK, g.document(r, t))
	return nil
}

// document returns a task as the interface represents it.
func (g *Gateway) document(r *http.Request, t Task) any {
	data := map[string]any{"id": t.ID, "status": t.State()}
	doc := map[string]any{"created": t.Created.Unix(), "data": data}
	switch {
	case t.Failure != nil:
		data["error"] = map[string]string{"code": t.Failure.Code, "message": t.Failure.Message}
	case !t.Ended.IsZero():
		images := t.items(func(name string) item { return item{URL: []string{g.sign(r, name)}} })
		data["result"], doc["usage"] = map[string]any{"images": images}, t.usage()
	}
	return doc
}

// sign returns a URL of stored bytes that is valid for urlLifetime.
func (g *Gateway) sign(r *http.Request, name string) string {
	base := g.c.PublicURL
	if base == "" {
		scheme := "http"
		if r.TLS != nil {
			scheme = "https"
		}
		base = scheme + "://" + r.Host
	}
	until := strconv.FormatInt(time.Now().Add(urlLifetime).Unix(), 10)
	query := url.Values{"until": {until}, "signature": {g.signature(name, until)}}
	return base + "/v1/files/" + url.PathEscape(name) + "?" + query.Encode()
}

func (g *Gateway) signature(name, until string) string {
	mac := hmac.New(sha256.New, g.c.Secret)
	_, _ = io.WriteString(mac, name+"\n"+until)
	return hex.EncodeToString(mac.Sum(nil))
}

// file serves the image of a signed URL that has not expired.
func (g *Gateway) file(w http.ResponseWriter, r *http.Request) {
	name, until := r.PathValue("name"), r.URL.Query().Get("until")
	if !hmac.Equal([]byte(r.URL.Query().Get("signature")), []byte(g.signature(name, until))) {
		problem(403, "bad_signature", "the signature of the URL is missing or invalid").write(w)
		return
	}
	if at, err := strconv.ParseInt(until, 10, 64); err != nil || time.Now().Unix() > at {
		problem(410, "expired", "the URL has expired; poll the task for a new one").write(w)
		return
	}
	b, err := g.c.Files.open(name)
	if err != nil {
		problem(404, "image_not_found", "the image has been deleted").write(w)
		return
	}
	defer b.Close()
	head := make([]byte, sniffBytes)
	n, _ := b.ReadAt(head, 0) // an error is found again by ServeContent
	header := w.Header()
	header.Set("Content-Type", imagegen.DetectType(head[:n]))
	header.Set("X-Content-Type-Options", "nosniff")
	// an SVG may contain scripts
	header.Set("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'")
	header.Set("Cache-Control", "private, max-age=86400, immutable")
	http.ServeContent(w, r, "", time.Time{}, b)
}
