package imagegentest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"lessonkit.example/imagegen"
)

type task struct {
	Post
	id    string
	step  Step
	began time.Time
	last  time.Time
	polls int
}

type file struct {
	data    []byte
	refused int // number of fetches to refuse
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/images/generations", s.post)
	mux.HandleFunc("POST /v1/images/edits", s.post)
	mux.HandleFunc("GET /v1/tasks/{id}", s.poll)
	mux.HandleFunc("GET /files/{name}", s.file)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.violation("%s %s is not part of the interface", r.Method, r.URL.Path)
		http.NotFound(w, r)
	})
	return mux
}

func (s *Server) violation(format string, args ...any) {
	s.t.Errorf("imagegentest: the client violates the interface: "+format, args...)
}

func (s *Server) authorized(r *http.Request) bool {
	return r.Header.Get("Authorization") == "Bearer "+APIKey
}

func (s *Server) post(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.state.Requests++
	var step Step
	if len(s.script) > 0 {
		step, s.script = s.script[0], s.script[1:]
	}
	s.mu.Unlock()
	if !s.authorized(r) {
		writeError(w, 401, "bad_key", "no such key")
		return
	}
	if step.kind == dropBefore {
		drop(w)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		drop(w) // the client has left
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	p, err := readPost(r)
	if err != nil {
		s.violation("%v", err)
		writeError(w, 400, "bad_request", err.Error())
		return
	}
	generated := step.kind != status || step.code >= 500 && step.code != 503
	s.mu.Lock()
	s.state.Posts = append(s.state.Posts, p)
	if generated {
		s.state.Generations++
	}
	s.mu.Unlock()
	if step.kind != status && step.wait > 0 && !s.sleep(r, step.wait) {
		return
	}
	switch {
	case step.kind == dropAfter:
		drop(w)
	case step.kind == status:
		if step.text != "" {
			w.Header().Set("Location", step.text)
		}
		if step.wait > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(step.wait/time.Second)))
		}
		writeError(w, step.code, "scripted", "scripted status "+strconv.Itoa(step.code))
	case step.kind == raw:
		io.WriteString(w, step.text)
	case s.o.Mode == Async:
		s.submit(w, p, step)
	default:
		s.answer(w, r, p, step)
	}
}

// sleep waits for d, and returns false if the client leaves or the fake is closed before.
func (s *Server) sleep(r *http.Request, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-r.Context().Done():
	case <-s.closed:
	}
	return false
}

func drop(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		conn.Close()
	}
}

// readPost reads a request for images and checks it against the interface.
func readPost(r *http.Request) (Post, error) {
	p := Post{Fields: map[string]string{}}
	if r.ContentLength < 0 {
		return p, fmt.Errorf("the request has no Content-Length")
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if strings.HasSuffix(r.URL.Path, "/generations") {
		if kind != "application/json" {
			return p, fmt.Errorf("content type of a generation is %q", kind)
		}
		d := json.NewDecoder(r.Body)
		d.UseNumber()
		object := map[string]any{}
		if err := d.Decode(&object); err != nil {
			return p, fmt.Errorf("body: %w", err)
		}
		for name, value := range object {
			p.Fields[name] = fmt.Sprint(value)
		}
	} else {
		if kind != "multipart/form-data" {
			return p, fmt.Errorf("content type of an edit is %q", kind)
		}
		if err := r.ParseMultipartForm(1 << 30); err != nil {
			return p, fmt.Errorf("form: %w", err)
		}
		for name, values := range r.MultipartForm.Value {
			p.Fields[name] = values[0]
		}
		for name, files := range r.MultipartForm.File {
			for _, f := range files {
				kind := f.Header.Get("Content-Type")
				if name != "image[]" || !strings.HasPrefix(kind, "image/") {
					return p, fmt.Errorf("part %q of type %q", name, kind)
				}
				opened, err := f.Open()
				if err != nil {
					return p, err
				}
				data, err := io.ReadAll(opened)
				if err != nil {
					return p, err
				}
				p.Files = append(p.Files, File{f.Filename, kind, data})
			}
		}
		if len(p.Files) == 0 {
			return p, fmt.Errorf("an edit without image[]")
		}
	}
	for _, name := range []string{"model", "prompt"} {
		if p.Fields[name] == "" {
			return p, fmt.Errorf("no %s", name)
		}
	}
	if size, ok := p.Fields["size"]; ok {
		if _, err := imagegen.ParseRatio(size); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (p Post) count() int {
	n, _ := strconv.Atoi(p.Fields["n"])
	return max(n, 1)
}

// items returns the images of a response, as data or as URLs.
func (s *Server) items(r *http.Request, p Post, step Step) (all []map[string]any) {
	for i := range p.count() {
		switch {
		case step.kind == itemError && step.index == i:
			filtered := map[string]string{"code": "filtered", "message": "image was filtered"}
			all = append(all, map[string]any{"error": filtered})
		case s.o.Mode == Sync:
			all = append(all, map[string]any{"revised_prompt": "revised: " + p.Fields["prompt"],
				"b64_json": s.o.Image(p, i)})
		default:
			all = append(all, map[string]any{"url": s.publish(r, p, i, step)})
		}
	}
	return all
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, p Post, step Step) {
	body, _ := json.Marshal(map[string]any{"created": time.Now().Unix(), "data": s.items(r, p, step),
		"usage": map[string]any{"input_tokens": 11, "output_tokens": 7, "total_tokens": 18,
			"input_tokens_details": map[string]int{"text_tokens": 11, "image_tokens": 5 * len(p.Files)}}})
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("X-Request-Id", "req-"+strconv.Itoa(len(body)))
	if step.kind == dropMiddle || step.kind == stall {
		w.Write(body[:len(body)/2])
		http.NewResponseController(w).Flush()
		if step.kind == stall {
			s.sleep(r, 24*time.Hour)
		}
		drop(w)
		return
	}
	w.Write(body)
}

// publish makes an image available and returns its URL.
func (s *Server) publish(r *http.Request, p Post, index int, step Step) []string {
	f := &file{data: s.o.Image(p, index)}
	if step.kind == expired {
		f.refused = step.index
	}
	name := strconv.FormatUint(rand.Uint64(), 36) + ".png"
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[name] = f
	return []string{"http://" + r.Host + "/files/" + name + "?sig=secret-signature"}
}

func (s *Server) submit(w http.ResponseWriter, p Post, step Step) {
	t := &task{Post: p, id: "task-" + strconv.FormatUint(rand.Uint64(), 36), step: step, began: time.Now()}
	s.mu.Lock()
	s.tasks[t.id] = t
	s.mu.Unlock()
	writeJSON(w, map[string]any{"data": map[string]string{"id": t.id, "status": "pending"}})
}

func (s *Server) poll(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	if !s.authorized(r) {
		writeError(w, 401, "bad_key", "no such key")
		return
	}
	s.mu.Lock()
	s.state.Polls = append(s.state.Polls, now)
	t := s.tasks[r.PathValue("id")]
	if t == nil {
		s.mu.Unlock()
		writeError(w, 404, "no_task", "no such task")
		return
	}
	t.polls++
	n, last := t.polls, t.last
	t.last = now
	s.mu.Unlock()
	age := now.Sub(t.began)
	ended := age >= s.o.Duration && t.step.kind != stuck
	if !ended {
		if n == 1 && age < 10*time.Second {
			s.violation("first poll after %v, not 10 s to 20 s", age)
		}
		if n > 1 && now.Sub(last) < 3*time.Second {
			s.violation("poll after %v, not 3 s to 5 s", now.Sub(last))
		}
	}
	if n <= len(t.step.polls) {
		switch code := t.step.polls[n-1]; code {
		case 200:
		case -1:
			s.sleep(r, 24*time.Hour)
			return
		case 0:
			s.mu.Lock()
			t.last = time.Time{} // net/http may poll again at once
			s.mu.Unlock()
			drop(w)
			return
		default:
			writeError(w, code, "scripted", "scripted status")
			return
		}
	}
	data := map[string]any{"id": t.id}
	switch {
	case ended && t.step.kind == failTask:
		data["status"], data["error"] = "failed", map[string]string{"message": t.step.text}
	case ended:
		data["status"], data["result"] = "completed", map[string]any{"images": s.results(r, t)}
	case age < s.o.Duration/2:
		data["status"] = "pending"
	default:
		data["status"] = "processing"
	}
	writeJSON(w, map[string]any{"data": data})
}

// results publishes the images of a task, with new URLs each time.
func (s *Server) results(r *http.Request, t *task) []map[string]any {
	all := s.items(r, t.Post, t.step)
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.step.kind == expired {
		t.step = Step{}
	}
	return all
}

func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.state.Files++
	f := s.files[r.PathValue("name")]
	refused := f != nil && f.refused > 0
	if refused {
		f.refused--
	}
	s.mu.Unlock()
	switch {
	case f == nil:
		http.NotFound(w, r)
	case refused:
		http.Error(w, "the signature has expired", http.StatusForbidden)
	default:
		http.ServeContent(w, r, "image.png", time.Time{}, bytes.NewReader(f.data))
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

func writeError(w http.ResponseWriter, code int, name, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Request-Id", "req-error")
	w.WriteHeader(code)
	e := map[string]string{"code": name, "type": "scripted_error", "message": message}
	json.NewEncoder(w).Encode(map[string]any{"error": e})
}

// defaultImage returns a small image of the requested ratio, different for each index.
func defaultImage(p Post, index int) []byte {
	_, _, w, h := imagegen.Ratio(p.Fields["size"]).Crop(64, 64)
	img := image.NewGray(image.Rect(0, 0, w, h))
	img.SetGray(0, 0, color.Gray{uint8(index * 40)})
	var out bytes.Buffer
	png.Encode(&out, img)
	return out.Bytes()
}
