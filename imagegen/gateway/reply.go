package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"lessonkit.example/imagegen"
)

// reply waits for a task as the mode says, and answers.
func (g *Gateway) reply(w http.ResponseWriter, r *http.Request, id string, j *job) *failure {
	var budget <-chan time.Time
	switch g.c.Mode {
	case Async:
		now := make(chan time.Time)
		close(now)
		budget = now
	case Auto:
		timer := time.NewTimer(g.c.Budget)
		defer timer.Stop()
		budget = timer.C
	}
	select {
	case <-j.done:
	case <-budget:
	case <-g.stopped:
	case <-r.Context().Done():
	}
	t, err := g.c.Store.Task(r.Context(), id)
	if err != nil {
		return internal(err)
	}
	if g.c.Mode == Async || !t.State.Done() {
		writeJSON(w, http.StatusOK, g.document(r, t))
		return nil
	}
	if t.Failure != nil {
		return t.Failure.answer()
	}
	return g.data(w, r, t)
}

// answer is the failure of a task as an error answer. Only a request that was never carried out is worth repeating (503).
func (f *Failure) answer() *failure {
	switch f.Code {
	case codeUnavailable:
		return problem(503, f.Code, f.Message).after(max(f.RetryAfter, time.Second))
	case "failed", "interrupted":
		return problem(502, f.Code, f.Message)
	}
	return problem(422, f.Code, f.Message)
}

// data answers with image data. The images stream from the store; the length of the whole is known before the first byte.
func (g *Gateway) data(w http.ResponseWriter, r *http.Request, t Task) *failure {
	pieces := [][]byte{[]byte(`{"created":` + strconv.FormatInt(t.Ended.Unix(), 10) + `,"data":[`)}
	var readers []io.ReadSeekCloser // readers[i] follows pieces[i]
	defer func() {
		for _, b := range readers {
			b.Close()
		}
	}()
	length := int64(0)
	text := func(s []byte) {
		pieces[len(pieces)-1] = append(pieces[len(pieces)-1], s...)
	}
	for i := range t.count() {
		if i > 0 {
			text([]byte(","))
		}
		if i >= len(t.Images) || t.Images[i].Name == "" {
			item, _ := json.Marshal(map[string]any{"error": map[string]string{"code": "failed", "message": t.missing(i)}})
			text(item)
			continue
		}
		b, err := g.c.Store.OpenBlob(r.Context(), t.Images[i].Name)
		if err != nil {
			return internal(err)
		}
		readers = append(readers, b)
		size, err := b.Seek(0, io.SeekEnd)
		if err == nil {
			_, err = b.Seek(0, io.SeekStart)
		}
		if err != nil {
			return internal(err)
		}
		length += int64(base64.StdEncoding.EncodedLen(int(size)))
		item := []byte("{")
		if prompt := t.Images[i].Prompt; prompt != "" {
			quoted, _ := json.Marshal(prompt)
			item = append(append(append(item, `"revised_prompt":`...), quoted...), ',')
		}
		text(append(item, `"b64_json":"`...))
		pieces = append(pieces, []byte(`"}`))
	}
	usage, _ := json.Marshal(t.usage())
	text(append(append([]byte(`],"usage":`), usage...), '}'))
	for _, p := range pieces {
		length += int64(len(p))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.FormatInt(length, 10))
	w.Header().Set("Cache-Control", "no-store")
	block := make([]byte, 48<<10)
	encoded := make([]byte, 64<<10)
	for i, p := range pieces {
		if _, err := w.Write(p); err != nil {
			return nil // the caller has left
		}
		if i == len(readers) {
			break
		}
		for {
			n, err := io.ReadFull(readers[i], block)
			m := base64.StdEncoding.EncodedLen(n)
			base64.StdEncoding.Encode(encoded, block[:n])
			if _, err := w.Write(encoded[:m]); err != nil {
				return nil
			}
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				break
			}
			if err != nil {
				g.c.Logger.Error("read stored image", "task", t.ID, "error", err)
				panic(http.ErrAbortHandler) // the status has gone out: only cutting the connection tells the caller
			}
		}
	}
	return nil
}

// count is the number of images a task has or should have.
func (t Task) count() int {
	n := len(t.Images)
	for i := range t.Errors {
		n = max(n, i+1)
	}
	return n
}

// missing is why image i is not there.
func (t Task) missing(i int) string {
	if s := t.Errors[i]; s != "" {
		return s
	}
	return "the image was not generated"
}

// usage is what the generator reported, or else the one number the interface promises.
func (t Task) usage() any {
	if len(t.Usage) > 0 {
		return t.Usage
	}
	return map[string]any{"input_tokens_details": map[string]int{"image_tokens": 0}}
}

// task answers a poll.
func (g *Gateway) task(w http.ResponseWriter, r *http.Request, caller string) *failure {
	t, err := g.c.Store.Task(r.Context(), r.PathValue("id"))
	if errors.Is(err, ErrNotFound) || err == nil && t.Caller != caller {
		return problem(404, "task_not_found", "there is no such task")
	}
	if err != nil {
		return internal(err)
	}
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusOK, g.document(r, t))
	return nil
}

// document is a task as the interface shows it.
func (g *Gateway) document(r *http.Request, t Task) any {
	data := map[string]any{"id": t.ID, "status": t.State}
	doc := map[string]any{"created": t.Created.Unix(), "data": data}
	switch {
	case t.Failure != nil:
		data["error"] = map[string]string{"code": t.Failure.Code, "message": t.Failure.Message}
	case t.State == imagegen.StateCompleted:
		images := []any{}
		for i := range t.count() {
			if i >= len(t.Images) || t.Images[i].Name == "" {
				images = append(images, map[string]any{"error": map[string]string{"message": t.missing(i)}})
				continue
			}
			image := map[string]any{"url": []string{g.sign(r, t.Images[i].Name)}}
			if p := t.Images[i].Prompt; p != "" {
				image["revised_prompt"] = p
			}
			images = append(images, image)
		}
		data["result"], doc["usage"] = map[string]any{"images": images}, t.usage()
	}
	return doc
}

// sign returns an address for stored bytes that is good for a while.
func (g *Gateway) sign(r *http.Request, name string) string {
	base := g.c.PublicURL
	if base == "" {
		scheme := "http"
		if r.TLS != nil {
			scheme = "https"
		}
		base = scheme + "://" + r.Host
	}
	until := strconv.FormatInt(g.c.Now().Add(g.c.URLLife).Unix(), 10)
	return base + "/v1/files/" + url.PathEscape(name) + "?" + url.Values{"until": {until}, "signature": {g.signature(name, until)}}.Encode()
}

func (g *Gateway) signature(name, until string) string {
	mac := hmac.New(sha256.New, g.c.Secret)
	_, _ = io.WriteString(mac, name+"\n"+until)
	return hex.EncodeToString(mac.Sum(nil))
}

// file serves an image to whoever has a signed address that is still good.
func (g *Gateway) file(w http.ResponseWriter, r *http.Request) {
	name, until := r.PathValue("name"), r.URL.Query().Get("until")
	if !hmac.Equal([]byte(r.URL.Query().Get("signature")), []byte(g.signature(name, until))) {
		problem(403, "bad_signature", "the address is not signed, or has been changed").write(w)
		return
	}
	if at, err := strconv.ParseInt(until, 10, 64); err != nil || g.c.Now().Unix() > at {
		problem(410, "expired", "the address has expired; ask for the task again").write(w)
		return
	}
	b, err := g.c.Store.OpenBlob(r.Context(), name)
	if err != nil || strings.HasPrefix(name, refPrefix) {
		if b != nil {
			b.Close()
		}
		problem(404, "image_not_found", "the image is not here any more").write(w)
		return
	}
	defer b.Close()
	header := w.Header()
	header.Set("Content-Type", mediaType(name))
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'") // an SVG may hold scripts
	header.Set("Cache-Control", "private, max-age=86400, immutable")
	http.ServeContent(w, r, "", time.Time{}, b)
}

// mediaType tells the type from the extension, which the client library chose for it.
func mediaType(name string) string {
	known := map[string]string{".png": "image/png", ".jpg": "image/jpeg", ".webp": "image/webp", ".gif": "image/gif", ".avif": "image/avif",
		".heic": "image/heic", ".svg": "image/svg+xml", ".bmp": "image/bmp"}
	for _, ext := range slices.Sorted(maps.Keys(known)) {
		if strings.HasSuffix(name, ext) {
			return known[ext]
		}
	}
	return "application/octet-stream"
}
