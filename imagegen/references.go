package imagegen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
)

// Reference is a reference image. Its data is read when a request is sent, and again when it is
// retried, without being held in memory. Data fetched from a URL is buffered in a temporary file.
type Reference struct {
	name      string
	mediaType string // declared by the caller
	load      func() (source, error)
	url       string // to be fetched by the client
}

// source is data of known size that can be opened repeatedly.
type source struct {
	size int64
	open func() (io.ReadCloser, error)
	free func() // deletes buffered data; may be nil
}

func bytesSource(data []byte) source {
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	return source{size: int64(len(data)), open: open}
}

// File returns a reference to an image file.
func File(name string) Reference {
	return Reference{name: path.Base(strings.ReplaceAll(name, "\\", "/")), load: func() (source, error) {
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

// Bytes returns a reference to an image in memory. data must not change while calls use it.
func Bytes(name string, data []byte) Reference {
	return Reference{name: name, load: func() (source, error) { return bytesSource(data), nil }}
}

// Source returns a reference to an image of size bytes. open may be called several times.
func Source(name string, size int64, open func() (io.ReadCloser, error)) Reference {
	return Reference{name: name, load: func() (source, error) { return source{size: size, open: open}, nil }}
}

// URL returns a reference to an image at an http or https URL. The client fetches it within 60 s,
// without its API key, and not from a private network unless [Config].AllowPrivate is set.
func URL(address string) Reference {
	name := ""
	if u, err := url.Parse(address); err == nil {
		name = path.Base(u.Path)
	}
	return Reference{name: name, url: address}
}

// DataURL returns a reference to an image in a data: URL with base64, or in plain base64 text.
func DataURL(s string) Reference {
	decode := sync.OnceValues(func() ([]byte, error) { return decodeDataURL(s) })
	return Reference{load: func() (source, error) {
		data, err := decode()
		return bytesSource(data), err
	}}
}

func decodeDataURL(s string) ([]byte, error) {
	var out bytes.Buffer
	var d base64Decoder
	d.reset(&out)
	withoutSpace := strings.Join(strings.Fields(s), "")
	if err := errors.Join(d.write([]byte(withoutSpace)), d.close()); err != nil {
		return nil, errBase64
	}
	return out.Bytes(), nil
}

// Type returns a copy of r with a declared media type, such as "image/png". Without it the type is
// detected from the data.
func (r Reference) Type(mediaType string) Reference {
	r.mediaType = mediaType
	return r
}

// Open opens the data of r, for implementations of a generator. It fails for a [URL], which only a
// Client can fetch.
func (r Reference) Open() (io.ReadCloser, error) {
	if r.load == nil {
		return nil, errors.New("the reference is a URL, which only a Client can fetch")
	}
	src, err := r.load()
	if err != nil {
		return nil, err
	}
	return src.open()
}

// String returns the name of r, never its data or URL.
func (r Reference) String() string { return "reference " + clean(r.name, 128) }

// attach makes references ready to be sent: it fetches what has to be fetched, and finds their
// sizes and types. Whatever is wrong with them is found here, before anything is paid. free deletes
// buffered data.
func (c *call) attach(ctx context.Context, refs []Reference) (files []attachment, free func(), err error) {
	free = func() {
		for _, f := range files {
			if f.free != nil {
				f.free()
			}
		}
	}
	permanent := []error{ErrNotImage, ErrTooLarge, ErrBlockedAddress, errBase64, fs.ErrNotExist, fs.ErrPermission}
	for i, ref := range refs {
		f := attachment{}
		f.source, err = c.load(ctx, ref)
		if err == nil {
			files = append(files, f)
			f.mediaType, err = f.detectType(ref)
		}
		if err != nil {
			free()
			return nil, nil, &Error{Op: "reference", Err: fmt.Errorf("%d %q: %w", i+1, clean(ref.name, 128), err),
				permanent: slices.ContainsFunc(permanent, func(target error) bool { return errors.Is(err, target) })}
		}
		f.name = partName(ref.name, f.mediaType, i)
		files[i] = f
	}
	return files, free, nil
}

func (c *call) load(ctx context.Context, ref Reference) (source, error) {
	switch {
	case ref.url != "":
		return c.fetchReference(ctx, ref.url)
	case ref.load != nil:
		return ref.load()
	}
	return source{}, fmt.Errorf("%w: it has neither data nor a URL", ErrInvalidRequest)
}

// detectType checks the size and returns the media type: the declared one, else the one of the
// data.
func (f attachment) detectType(ref Reference) (string, error) {
	if f.size > maxReferenceBytes {
		return "", fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, f.size, maxReferenceBytes)
	}
	if f.size <= 0 {
		return "", fmt.Errorf("%w: it is empty", ErrNotImage)
	}
	mediaType := ref.mediaType
	if mediaType == "" {
		r, err := f.open()
		if err != nil {
			return "", err
		}
		defer r.Close()
		head, err := io.ReadAll(io.LimitReader(r, sniffBytes))
		if err != nil {
			return "", err
		}
		mediaType = DetectType(head)
	}
	if !isImage(mediaType) || strings.ContainsFunc(mediaType, notToken) {
		return "", fmt.Errorf("%w: its type is %q", ErrNotImage, clean(mediaType, 100))
	}
	return mediaType, nil
}

// fetchReference reads the reference at a URL, without sending the API key.
func (c *call) fetchReference(parent context.Context, address string) (source, error) {
	u, err := parseURL(nil, address)
	if err != nil {
		return source{}, fmt.Errorf("%w: %w", ErrInvalidRequest, err)
	}
	ctx, cancel := withLimit(parent, fetchTimeout)
	defer cancel()
	for try := 1; ; try++ {
		src, e := c.tryReference(ctx, u)
		if e == nil {
			return src, nil
		}
		if try == referenceTries || !e.retryFetch() || sleep(ctx, backoff(try)) != nil {
			e.Err = whyEnded(ctx, e.Err)
			return source{}, e
		}
	}
}

func (c *call) tryReference(ctx context.Context, u *url.URL) (source, *Error) {
	resp, e := c.open(ctx, u, false)
	if e != nil {
		return source{}, e
	}
	defer resp.Body.Close()
	if resp.ContentLength > maxReferenceBytes {
		return source{}, fetchError(u, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, resp.ContentLength,
			maxReferenceBytes))
	}
	src, err := buffer(io.LimitReader(resp.Body, maxReferenceBytes+1))
	if err != nil {
		return source{}, fetchError(u, err)
	}
	return src, nil
}

// buffer copies r to a temporary file, so that its size is known and it can be read again.
func buffer(r io.Reader) (source, error) {
	f, err := os.CreateTemp("", "imagegen-reference-*")
	if err != nil {
		return source{}, err
	}
	_ = os.Remove(f.Name()) // so that a killed process leaves nothing; fails on Windows
	free := func() { f.Close(); os.Remove(f.Name()) }
	size, err := io.Copy(f, r)
	if err != nil {
		free()
		return source{}, fmt.Errorf("buffer reference: %w", err)
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(f, 0, size)), nil }
	return source{size: size, open: open, free: free}, nil
}

// partName returns the file name for a part: a base name without control characters, whose
// extension agrees with the media type.
func partName(name, mediaType string, index int) string {
	name = path.Base(strings.ReplaceAll(name, "\\", "/"))
	name = strings.TrimSuffix(name, path.Ext(name))
	name = clean(name[:min(len(name), 120)], 120)
	if name == "" || name == "/" {
		name = fmt.Sprintf("image-%d", index+1)
	}
	return name + extension(mediaType)
}
