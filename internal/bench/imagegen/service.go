package imagegen

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// service imitates the image-generation service. Its images repeat one block, so that it needs no
// memory for them.
type service struct {
	url       string
	server    *http.Server
	generated atomic.Int64
}

// block returns 48 KiB that begin like a PNG, and the same in base64. Its text is not a string:
// net/http sends a large slice in one write, but a string in pieces of 4 KiB.
func block() (data, text []byte) {
	data = append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x10\x00\x00\x00\x10\x00\x08\x02\x00\x00\x00"),
		bytes.Repeat([]byte{0x5a, 0xc3, 0x17}, 48<<10/3)...)[:48<<10]
	return data, base64.StdEncoding.AppendEncode(nil, data)
}

func serve() (*service, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &service{url: "http://" + l.Addr().String()}
	mux := http.NewServeMux()
	_, text := block()
	// the base URL contains the size of the images, or the fault
	mux.HandleFunc("POST /size/{bytes}/v1/images/{kind}", func(w http.ResponseWriter, r *http.Request) {
		var body struct{ N int }
		if r.PathValue("kind") == "edits" {
			_, _ = io.Copy(io.Discard, r.Body)
			body.N = 1
		} else if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer(w, max(body.N, 1), repeats(r), text)
	})
	mux.HandleFunc("GET /size/{bytes}/raw/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.PathValue("n"))
		k := n * repeats(r)
		w.Header().Set("Content-Length", strconv.Itoa(k*len(text)))
		for range k {
			_, _ = w.Write(text)
		}
	})
	mux.HandleFunc("POST /sink", func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	mux.HandleFunc("POST /fault/{fault}/v1/images/generations", s.fault)
	s.server = &http.Server{Handler: mux}
	go func() { _ = s.server.Serve(l) }()
	return s, nil
}

func (s *service) close()     { _ = s.server.Close() }
func (s *service) reset()     { s.generated.Store(0) }
func (s *service) count() int { return int(s.generated.Load()) }

// repeats returns how often to repeat the block for the requested size.
func repeats(r *http.Request) int {
	size, _ := strconv.Atoi(r.PathValue("bytes"))
	return max((size+48<<10-1)/(48<<10), 1)
}

func answer(w http.ResponseWriter, n, repeats int, text []byte) {
	const head, tail = `{"created":1,"data":[`, `],"usage":{"input_tokens_details":{"image_tokens":0}}}`
	const open, end = `{"revised_prompt":"a fox","b64_json":"`, `"}`
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(head)+len(tail)+n*(len(open)+len(end)+repeats*len(text))+n-1))
	_, _ = io.WriteString(w, head)
	for i := range n {
		if i > 0 {
			_, _ = io.WriteString(w, ",")
		}
		_, _ = io.WriteString(w, open)
		for range repeats {
			_, _ = w.Write(text)
		}
		_, _ = io.WriteString(w, end)
	}
	_, _ = io.WriteString(w, tail)
}

// fault reads the request, starts a generation, and fails.
func (s *service) fault(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	s.generated.Add(1)
	drop := func() {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			conn.Close()
		}
	}
	switch r.PathValue("fault") {
	case "drop":
		drop()
	case "502":
		http.Error(w, "bad gateway", http.StatusBadGateway)
	case "slow":
		select {
		case <-r.Context().Done():
		case <-time.After(time.Minute):
		}
	case "middle":
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"data":[{"b64_json":"iVBORw0KGgoA`)
		_ = http.NewResponseController(w).Flush()
		drop()
	}
}

// writeReference writes a file of size bytes that begins like a PNG.
func writeReference(name string, size int) error {
	data, _ := block()
	return os.WriteFile(name, bytes.Repeat(data, size/len(data)+1)[:size], 0o600)
}

func sizeURL(base string, size int) string {
	return strings.TrimSuffix(base, "/") + "/size/" + strconv.Itoa(size)
}
