package asrhttp

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lessonkit.example/asr"
)

const (
	maxField  = 4 << 10  // bytes of a text field
	maxFields = 32       // parts of a form
	overhead  = 64 << 10 // bytes of a form without the recording
)

func (h *Handler) transcribe(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	form, t, err := h.work(w, r)
	level := h.log.InfoContext
	switch {
	case disconnected(r.Context(), err):
		h.log.InfoContext(r.Context(), "client disconnected", "took", time.Since(started))
		return
	case err != nil:
		f := failureOf(err)
		if f.status >= 500 {
			level = h.log.ErrorContext
		}
		level(r.Context(), "not transcribed", "status", f.status, "took", time.Since(started), "error", err)
		h.fail(w, f)
		return
	}
	level(r.Context(), "transcribed", "bytes", form.size, "audio", t.Duration, "took", time.Since(started))
	h.write(w, form, t)
}

// work reads the form and recognises the recording.
func (h *Handler) work(w http.ResponseWriter, r *http.Request) (*form, asr.Transcript, error) {
	select {
	case h.pending <- struct{}{}:
		defer func() { <-h.pending }()
	default:
		return nil, asr.Transcript{}, &failure{
			status: http.StatusServiceUnavailable, code: "busy", retryAfter: 15 * time.Second,
			message: fmt.Sprintf("busy: %d recordings are pending", cap(h.pending)),
		}
	}
	dir, err := os.MkdirTemp(h.cfg.Dir, "asrhttp-")
	if err != nil {
		return nil, asr.Transcript{}, cannotStore(err)
	}
	defer os.RemoveAll(dir)
	form, err := h.readForm(w, r, filepath.Join(dir, "audio"))
	if err != nil {
		return nil, asr.Transcript{}, err
	}
	audio, err := asr.FromFile(filepath.Join(dir, "audio"))
	if err != nil {
		return nil, asr.Transcript{}, err
	}
	audio.Name, audio.ContentType, audio.Language = form.name, form.contentType, form.language
	t, err := h.cfg.Recognizer.Recognize(r.Context(), audio)
	return form, t, err
}

// form is a request.
type form struct {
	name, contentType string
	size              int64
	language, format  string
	hasFile           bool
}

// readForm reads the fields in any order and stores the recording at path.
func (h *Handler) readForm(w http.ResponseWriter, r *http.Request, path string) (*form, error) {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "multipart/form-data" || params["boundary"] == "" {
		return nil,
			badRequest("", "invalid_form",
				`the body must be multipart/form-data with the recording in the field "file"`)
	}
	conn := http.NewResponseController(w)
	r.Body = http.MaxBytesReader(w, paced{r.Body, conn, h.cfg.ReadPause}, h.cfg.MaxBytes+overhead)
	reader := multipart.NewReader(r.Body, params["boundary"])
	f := &form{format: "json"}
	for parts := 0; ; parts++ {
		part, err := reader.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, h.formError(err)
		}
		if parts == maxFields {
			return nil, badRequest("", "invalid_form", "the form has more than %d fields", maxFields)
		}
		if err := h.readPart(f, part, path); err != nil {
			return nil, err
		}
	}
	// Unless the body is read to its end, net/http does not notice a client that disconnects.
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, h.formError(err)
	}
	_ = conn.SetReadDeadline(time.Time{}) // net/http keeps reading to notice a client that disconnects
	switch {
	case !f.hasFile:
		return nil, badRequest("file", "missing_file", `the form has no field "file" with the recording`)
	case f.size == 0:
		return nil, badRequest("file", "invalid_audio", "the recording is empty")
	}
	return f, nil
}

// paced fails if the client stops sending.
type paced struct {
	io.ReadCloser
	conn  *http.ResponseController
	pause time.Duration
}

func (p paced) Read(b []byte) (int, error) {
	_ = p.conn.SetReadDeadline(time.Now().Add(p.pause)) // not every ResponseWriter supports it
	return p.ReadCloser.Read(b)
}

func (h *Handler) readPart(f *form, part *multipart.Part, path string) error {
	name := strings.TrimSuffix(part.FormName(), "[]")
	if name == "file" {
		if f.hasFile {
			return badRequest("file", "invalid_form", `the form has more than one field "file"`)
		}
		f.hasFile, f.name, f.contentType = true, part.FileName(), part.Header.Get("Content-Type")
		return h.store(f, part, path)
	}
	value, err := io.ReadAll(io.LimitReader(part, maxField+1))
	if err != nil {
		return h.formError(err)
	}
	if len(value) > maxField {
		return badRequest(name, "invalid_form", "the field %q is longer than %d bytes", name, maxField)
	}
	switch text := strings.TrimSpace(string(value)); name {
	case "language":
		f.language = text
	case "response_format":
		if !slices.Contains([]string{"json", "text", "verbose_json"}, text) {
			return badRequest(name, "invalid_value", "response_format is %q; it must be json, text or verbose_json",
				text)
		}
		f.format = text
	case "stream":
		if text == "true" || text == "1" {
			return badRequest(name, "invalid_value", "streaming is not supported")
		}
	}
	return nil // model, prompt, temperature and others are for other recognisers
}

func (h *Handler) store(f *form, part io.Reader, path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return cannotStore(err)
	}
	f.size, err = io.Copy(file, io.LimitReader(part, h.cfg.MaxBytes+1))
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	_, writing := errors.AsType[*fs.PathError](err)
	switch {
	case writing:
		return cannotStore(err)
	case err != nil:
		return h.formError(err)
	case f.size > h.cfg.MaxBytes:
		return h.tooLarge()
	}
	return nil
}

func (h *Handler) formError(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return h.tooLarge()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &failure{
			status: http.StatusRequestTimeout, code: "too_slow", cause: err,
			message: fmt.Sprintf("no data received for %v", h.cfg.ReadPause),
		}
	}
	return &failure{
		status: http.StatusBadRequest, code: "invalid_form", message: "the form is damaged or incomplete", cause: err,
	}
}

func (h *Handler) tooLarge() error {
	return &failure{
		status: http.StatusRequestEntityTooLarge, param: "file", code: "too_large",
		message: fmt.Sprintf("the recording is larger than %d bytes", h.cfg.MaxBytes),
	}
}

func cannotStore(err error) error {
	return &failure{
		status: http.StatusServiceUnavailable, code: "no_room", message: "the recording cannot be stored",
		retryAfter: time.Minute, cause: err,
	}
}

// write answers in the requested format.
func (h *Handler) write(w http.ResponseWriter, f *form, t asr.Transcript) {
	switch f.format {
	case "text":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = io.WriteString(w, t.Text+"\n")
	case "verbose_json":
		type segment struct {
			ID    int     `json:"id"`
			Start float64 `json:"start"`
			End   float64 `json:"end"`
			Text  string  `json:"text"`
		}
		segments := make([]segment, len(t.Segments))
		for i, s := range t.Segments {
			segments[i] = segment{i, s.Start.Seconds(), s.End.Seconds(), s.Text}
		}
		writeJSON(w, http.StatusOK, map[string]any{
			"task": "transcribe", "language": t.Language, "duration": t.Duration.Seconds(), "text": t.Text,
			"segments": segments,
		})
	default:
		seconds := int64((t.Duration + time.Second - 1) / time.Second)
		writeJSON(w, http.StatusOK, map[string]any{
			"text": t.Text, "usage": map[string]any{"type": "duration", "seconds": seconds},
		})
	}
}
