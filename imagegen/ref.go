package imagegen

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"mime"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"unicode"
)

// Ref is a reference image. It is read when a request is sent, and again when the request is repeated, without being held in
// memory; only data from a plain reader or an address is spooled, in memory up to 8 MiB and in a temporary file beyond.
type Ref struct {
	name string
	kind string // media type the caller declared
	load func() (source, error)
	url  string // to be fetched by the client
}

// source is what a reference turns into before it is sent: something of known size that can be opened again and again.
type source struct {
	size int64
	open func() (io.ReadCloser, error)
	free func() // lets go of spooled data; may be nil
}

// File is a reference image in a file.
func File(name string) Ref {
	return Ref{name: path.Base(strings.ReplaceAll(name, "\\", "/")), load: func() (source, error) {
		info, err := os.Stat(name)
		if err != nil {
			return source{}, err
		}
		if !info.Mode().IsRegular() {
			return source{}, &fs.PathError{Op: "read", Path: name, Err: errors.New("not a regular file")}
		}
		return source{size: info.Size(), open: func() (io.ReadCloser, error) { return os.Open(name) }}, nil
	}}
}

// Bytes is a reference image in memory. data must not change while calls use it.
func Bytes(name string, data []byte) Ref {
	return Source(name, int64(len(data)), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
}

// Source is a reference image of size bytes that open can open several times.
func Source(name string, size int64, open func() (io.ReadCloser, error)) Ref {
	return Ref{name: name, load: func() (source, error) { return source{size: size, open: open}, nil }}
}

// Reader is a reference image that r provides. A reader that can also seek and read at an offset, as files and [bytes.Reader] do,
// is streamed from its beginning, and the Ref may be used again. Any other is read once, and so is the Ref good for one call.
func Reader(name string, r io.Reader) Ref {
	if at, ok := r.(interface {
		io.ReaderAt
		io.Seeker
	}); ok {
		if size, err := at.Seek(0, io.SeekEnd); err == nil {
			return Source(name, size, func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(at, 0, size)), nil })
		}
	}
	var once sync.Once
	return Ref{name: name, load: func() (source, error) {
		used := true
		once.Do(func() { used = false })
		if used {
			return source{}, errors.New("the reader has been read by an earlier call")
		}
		return spool(r)
	}}
}

// URL is a reference image behind an http or https address. The client fetches it, within [Fetch].Timeout, without its key, and
// never from a private network unless [Fetch].AllowPrivate is set.
func URL(address string) Ref {
	name := ""
	if u, err := url.Parse(address); err == nil {
		name = path.Base(u.Path)
	}
	return Ref{name: name, url: address}
}

// DataURL is a reference image in a data: URL, or in bare base64 text. It is decoded once.
func DataURL(s string) Ref {
	kind := ""
	if head, _, ok := strings.Cut(s, ","); ok {
		kind, _, _ = mime.ParseMediaType(strings.TrimSuffix(strings.TrimPrefix(head, "data:"), ";base64"))
	}
	decode := sync.OnceValues(func() ([]byte, error) { return decodeDataURL(s) })
	return Ref{kind: kind, load: func() (source, error) {
		data, err := decode()
		return source{size: int64(len(data)), open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}, err
	}}
}

func decodeDataURL(s string) ([]byte, error) {
	if head, rest, ok := strings.Cut(s, ","); ok && strings.HasPrefix(head, dataPrefix) && !strings.HasSuffix(head, ";base64") {
		text, err := url.PathUnescape(rest)
		return []byte(text), err
	}
	var out bytes.Buffer
	var d base64Decoder
	d.reset(&out)
	err := d.write([]byte(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)))
	if err == nil {
		err = d.close()
	}
	if err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Type returns a copy of r with a declared media type, such as "image/png", instead of the one found by looking at the data.
func (r Ref) Type(mediaType string) Ref {
	r.kind = mediaType
	return r
}

// Name returns the file name of r, which may be empty.
func (r Ref) Name() string { return r.name }

// Open opens the data of r for whoever implements a generator. It fails for a [URL], which only a Client can fetch.
func (r Ref) Open() (io.ReadCloser, error) {
	if r.load == nil {
		return nil, errors.New("reference is an address; it has no data of its own")
	}
	src, err := r.load()
	if err != nil {
		return nil, err
	}
	f, err := src.open()
	if err != nil || src.free == nil {
		return f, err
	}
	return struct {
		io.Reader
		io.Closer
	}{f, closer(func() error { err := f.Close(); src.free(); return err })}, nil
}

type closer func() error

func (f closer) Close() error { return f() }

// LogValue implements [slog.LogValuer]: the name, never data or an address.
func (r Ref) LogValue() slog.Value {
	return slog.GroupValue(slog.String("name", clean(r.name, 128)), slog.String("type", r.kind))
}

// String implements [fmt.Stringer] like LogValue.
func (r Ref) String() string { return "ref " + clean(r.name, 128) }

// partName makes a file name for a part: a base name without control characters, whose extension agrees with the type.
func partName(name, kind string, index int) string {
	name = path.Base(strings.ReplaceAll(name, "\\", "/"))
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '"' || r == unicode.ReplacementChar {
			return '_'
		}
		return r
	}, name)
	if name == "" || name == "." || name == "/" {
		name = fmt.Sprintf("image-%d", index+1)
	}
	ext := path.Ext(name)
	if have := typeByExtension(ext); have == kind {
		return name
	} else if have != "" {
		name = strings.TrimSuffix(name, ext)
	}
	if len(name) > 120 {
		name = strings.ToValidUTF8(name[:120], "")
	}
	return name + extension(kind)
}
