package asrhttp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"lessonkit.example/asr"
	"lessonkit.example/internal/tempdir"
)

const (
	maxField  = 4 << 10  // bytes of a text field
	maxHeader = 16 << 10 // about how many bytes the header of a part has
	maxFields = 32       // parts of a form
	overhead  = 64 << 10 // bytes of a form without the recording
)

func (h *Handler) transcribe(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	form, t, err := h.work(w, r)
	if err != nil {
		f := failureOf(r.Context(), err)
		level := slog.LevelInfo
		if f.status >= 500 && f != canceled {
			level = slog.LevelError
		}
		h.log.Log(r.Context(), level, "not transcribed", "status", f.status, "took", time.Since(started), "error", err)
		h.fail(w, f)
		return
	}
	h.log.InfoContext(r.Context(), "transcribed",
		"bytes", form.size, "audio", t.Duration, "took", time.Since(started))
	h.write(w, form, t)
}

// take takes a place of those in places; the caller must call the function that it returns.
func take(places chan struct{}, what string) (release func(), err error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	default:
		return nil, busy(places, what)
	}
}

func busy(places chan struct{}, what string) error {
	return &failure{
		status: http.StatusServiceUnavailable, code: "busy", retryAfter: 15 * time.Second,
		message: fmt.Sprintf("busy: %d recordings are %s", cap(places), what),
	}
}

// work reads the form and recognises the recording. A slow client does not take the place of a
// recording that has arrived.
func (h *Handler) work(w http.ResponseWriter, r *http.Request) (*form, asr.Transcript, error) {
	if len(h.pending) == cap(h.pending) { // before a byte is read
		return nil, asr.Transcript{}, busy(h.pending, "pending")
	}
	release, err := take(h.arriving, "arriving")
	if err != nil {
		return nil, asr.Transcript{}, err
	}
	defer func() { release() }()
	dir, err := tempdir.New(h.cfg.Dir, tempPrefix)
	if err != nil {
		return nil, asr.Transcript{}, cannotStore(err)
	}
	defer func() {
		if err := dir.Remove(); err != nil {
			h.log.WarnContext(r.Context(), "remove temporary files", "error", err)
		}
	}()
	path := filepath.Join(dir.Path, "audio")
	form, err := h.readForm(w, r, path)
	if err != nil {
		return nil, asr.Transcript{}, err
	}
	release()
	release = func() {}
	releasePending, err := take(h.pending, "pending")
	if err != nil {
		return nil, asr.Transcript{}, err
	}
	defer releasePending()
	audio, err := asr.FromFile(path)
	if err != nil {
		return nil, asr.Transcript{}, err
	}
	audio.Name, audio.ContentType = form.name, form.contentType
	audio.Language, audio.Prompt = form.language, form.prompt
	t, err := h.cfg.Recognizer.Recognize(r.Context(), audio)
	if err == nil && form.words && !form.segments && len(t.Words) == 0 && t.Text != "" {
		err = badRequest("timestamp_granularities[]", "unsupported_value",
			"this recogniser does not return the times of words; request segment")
	}
	return form, t, err
}

// form is a request.
type form struct {
	name, contentType string
	size              int64
	language, format  string
	prompt            string
	words, segments   bool // timestamp_granularities[]
	stream            bool
	ignored           []string // fields that have no effect
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
	body := &paced{ReadCloser: r.Body, conn: conn, pause: h.cfg.ReadPause, started: time.Now()}
	r.Body = http.MaxBytesReader(w, body, h.cfg.MaxBytes+overhead)
	reader := multipart.NewReader(r.Body, params["boundary"])
	f := &form{format: "json"}
	for parts := 0; ; parts++ {
		// Package multipart takes headers of 10 MB. The parts before have been read.
		body.most = body.n + maxHeader
		part, err := reader.NextPart()
		body.most = 0
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
	return f, f.check()
}

// paced fails if the client stops sending, or sends more slowly than any network does.
type paced struct {
	io.ReadCloser
	conn    *http.ResponseController
	pause   time.Duration
	started time.Time
	n       int64 // bytes read
	most    int64 // of n; 0: no limit
}

var errHeader = errors.New("the header of a part is too long")

// minRate is the lowest rate of an upload after the first pause, in bytes per second.
const minRate = 1024

func (p *paced) Read(b []byte) (int, error) {
	if time.Since(p.started) > p.pause+time.Duration(p.n/minRate)*time.Second {
		return 0, os.ErrDeadlineExceeded
	}
	if p.most > 0 && p.n >= p.most {
		return 0, errHeader
	}
	_ = p.conn.SetReadDeadline(time.Now().Add(p.pause)) // not every ResponseWriter supports it
	n, err := p.ReadCloser.Read(b)
	p.n += int64(n)
	return n, err
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
	switch {
	case len(value) > maxField && part.FileName() != "":
		return badRequest(name, "invalid_form", `the recording must be in the field "file", not in %q`, name)
	case len(value) > maxField:
		return badRequest(name, "invalid_form", "the field %q is longer than %d bytes", name, maxField)
	case !utf8.Valid(value) || bytes.IndexByte(value, 0) >= 0:
		return badRequest(name, "invalid_value", "the field %q is not text in UTF-8", name)
	}
	switch text := strings.TrimSpace(string(value)); name {
	case "language":
		f.language = text
	case "prompt":
		f.prompt = text
	case "response_format":
		if !slices.Contains(formats, text) {
			return badRequest(name, "invalid_value", "response_format is %q; it must be json, text, verbose_json, "+
				"srt or vtt", text)
		}
		f.format = text
	case "stream":
		if f.stream, err = strconv.ParseBool(text); err != nil && text != "" {
			return badRequest(name, "invalid_value", "stream is %q; it must be true or false", text)
		}
	case "timestamp_granularities":
		switch text {
		case "word":
			f.words = true
		case "segment":
			f.segments = true
		default:
			return badRequest(name, "invalid_value", "timestamp_granularities is %q; it must be word or segment", text)
		}
	case "temperature":
		if n, err := strconv.ParseFloat(text, 64); err != nil || !(n >= 0 && n <= 1) {
			return badRequest(name, "invalid_value", "temperature is %q; it must be a number from 0 to 1", text)
		}
		f.ignored = append(f.ignored, name)
	case "include":
		return badRequest(name, "unsupported_value", "include is not supported")
	case "model": // there is one, and clients must name any
	default:
		f.ignored = append(f.ignored, name)
	}
	return nil
}

var formats = []string{"json", "text", "verbose_json", "srt", "vtt"}

// check returns an error for fields that do not fit together.
func (f *form) check() error {
	switch {
	case !f.hasFile:
		return badRequest("file", "missing_file", `the form has no field "file" with the recording`)
	case f.size == 0:
		return badRequest("file", "invalid_audio", "the recording is empty")
	case (f.words || f.segments) && f.format != "verbose_json":
		return badRequest("timestamp_granularities[]", "invalid_value",
			"timestamp_granularities needs response_format verbose_json")
	case f.stream && f.format != "json":
		return badRequest("stream", "invalid_value", "stream needs response_format json")
	}
	return nil
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
			status: http.StatusRequestTimeout, code: "too_slow",
			message: fmt.Sprintf("no data received for %v, or too slowly", h.cfg.ReadPause),
		}
	}
	if errors.Is(err, errHeader) {
		return badRequest("", "invalid_form", "the form has more than %d bytes before or in the header of a field",
			maxHeader)
	}
	return badRequest("", "invalid_form", "the form is damaged or incomplete")
}

func (h *Handler) tooLarge() error {
	return &failure{
		status: http.StatusRequestEntityTooLarge, param: "file", code: "too_large",
		message: fmt.Sprintf("the recording is larger than %.4g MB", float64(h.cfg.MaxBytes)/(1<<20)),
	}
}

// cannotStore returns the answer with its cause, which is for the log.
func cannotStore(err error) error {
	return fmt.Errorf("%w: %w", &failure{
		status: http.StatusServiceUnavailable, code: "no_room", message: "the recording cannot be stored",
		retryAfter: time.Minute,
	}, err)
}
