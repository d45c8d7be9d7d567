package docsui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// asset is a file that the page needs, compressed once.
type asset struct {
	contentType string
	gz          []byte
	hash        string // of the content, in hex
}

func newAsset(contentType string, content []byte) *asset {
	sum := sha256.Sum256(content)
	return &asset{contentType, compress(content, gzip.DefaultCompression), hex.EncodeToString(sum[:])}
}

// compressedAsset is newAsset for content that is compressed already; the error
// is that of damaged content.
func compressedAsset(contentType string, gz []byte) (*asset, error) {
	r, err := gzip.NewReader(bytes.NewReader(gz))
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return nil, err
	}
	return &asset{contentType, gz, hex.EncodeToString(h.Sum(nil))}, nil
}

// version tells contents apart in an address.
func (a *asset) version() string { return a.hash[:16] }

// serve answers with the asset. A request that names its version may keep the
// answer for ever.
func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("v") == a.version() {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		w.Header().Set("Cache-Control", "no-cache")
	}
	w.Header().Set("Content-Type", a.contentType)
	send(w, r, a.hash, a.gz)
}

// send answers with compressed content, or, for a client that takes no gzip,
// with what it was made from.
func send(w http.ResponseWriter, r *http.Request, hash string, gz []byte) {
	h := w.Header()
	h.Add("Vary", "Accept-Encoding")
	zipped := acceptsGzip(r.Header.Values("Accept-Encoding"))
	etag := `"` + hash[:32] + `"`
	if zipped {
		etag = `"` + hash[:32] + `-gzip"`
	}
	h.Set("ETag", etag)
	if matches(r.Header.Values("If-None-Match"), etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if zipped {
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Length", strconv.Itoa(len(gz)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(gz)
		}
		return
	}
	if r.Method == http.MethodHead {
		return
	}
	content, err := gzip.NewReader(bytes.NewReader(gz))
	if err == nil {
		_, _ = io.Copy(w, content)
	}
}

// acceptsGzip reports whether an Accept-Encoding header names gzip, and not to
// exclude it.
func acceptsGzip(values []string) bool {
	for _, item := range strings.Split(strings.Join(values, ","), ",") {
		coding, parameter, _ := strings.Cut(item, ";")
		if !strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			continue
		}
		q, weighted := strings.CutPrefix(strings.ReplaceAll(strings.ToLower(parameter), " ", ""), "q=")
		weight, err := strconv.ParseFloat(q, 64)
		return !weighted || err == nil && weight > 0
	}
	return false
}

// matches reports whether an If-None-Match header names the tag.
func matches(values []string, etag string) bool {
	for _, item := range strings.Split(strings.Join(values, ","), ",") {
		item = strings.TrimPrefix(strings.TrimSpace(item), "W/")
		if item == etag || item == "*" {
			return true
		}
	}
	return false
}

func compress(content []byte, level int) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, level) // the level is a constant
	_, _ = z.Write(content)                // a buffer takes everything
	_ = z.Close()
	return b.Bytes()
}
