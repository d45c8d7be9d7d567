package imagegen

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"

	"lessonkit.example/internal/bench/harness"
)

// block returns 48 KiB that begin like a PNG, and the same in base64. Its text is not a string:
// net/http sends a large slice in one write, but a string in pieces of 4 KiB.
func block() (data, text []byte) {
	data = append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x10\x00\x00\x00\x10\x00\x08\x02\x00\x00\x00"),
		bytes.Repeat([]byte{0x5a, 0xc3, 0x17}, 48<<10/3)...)[:48<<10]
	return data, base64.StdEncoding.AppendEncode(nil, data)
}

// serve imitates the image-generation service. Its images repeat one block, so that it needs no
// memory for them; the base URL contains their size.
func serve(t *harness.TB) string {
	_, text := block()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /size/{bytes}/v1/images/{kind}", func(w http.ResponseWriter, r *http.Request) {
		var body struct{ N int }
		if r.PathValue("kind") == "edits" {
			_, _ = io.Copy(io.Discard, r.Body)
		} else if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		size, _ := strconv.Atoi(r.PathValue("bytes"))
		answer(w, max(body.N, 1), max((size+48<<10-1)/(48<<10), 1), text)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
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

// writeReference writes a file of size bytes that begins like a PNG.
func writeReference(name string, size int) {
	data, _ := block()
	harness.Check(os.WriteFile(name, bytes.Repeat(data, size/len(data)+1)[:size], 0o600))
}
