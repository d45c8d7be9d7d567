package imagegen

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"os"
	"strings"
	"sync"
)

// upload is a multipart form that is never held: the headers of its parts are written beforehand, so its length is exact, and its
// body can be opened again for another attempt.
type upload struct {
	contentType string
	length      int64
	pieces      []piece
}

// piece is some header text followed by a file, if there is one.
type piece struct {
	head []byte
	src  *source
}

// attachment is a reference that has been looked at and is ready to be sent.
type attachment struct {
	source
	name, kind string
}

func newUpload(fields []field, files []attachment) (*upload, error) {
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	u := &upload{contentType: w.FormDataContentType()}
	for _, f := range fields {
		if err := w.WriteField(f.name, f.form()); err != nil {
			return nil, err
		}
	}
	cut := func(src *source) {
		u.pieces = append(u.pieces, piece{bytes.Clone(buf.Bytes()), src})
		u.length += int64(buf.Len())
		if src != nil {
			u.length += src.size
		}
		buf.Reset()
	}
	for i := range files {
		header := textproto.MIMEHeader{}
		header.Set("Content-Disposition", fmt.Sprintf(`form-data; name="image[]"; filename="%s"`, strings.ReplaceAll(files[i].name, `"`, "_")))
		header.Set("Content-Type", files[i].kind)
		if _, err := w.CreatePart(header); err != nil {
			return nil, err
		}
		cut(&files[i].source)
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	cut(nil)
	return u, nil
}

// open returns the body from its beginning.
func (u *upload) open() (io.ReadCloser, error) { return &uploadBody{pieces: u.pieces}, nil }

// uploadBody reads the pieces one after the other, with one file open at a time. net/http may close it while it is being read.
type uploadBody struct {
	mu     sync.Mutex
	pieces []piece
	head   int // bytes of pieces[0].head that have been read
	file   io.ReadCloser
	left   int64 // bytes of file still to come
	closed bool
	direct bool  // copyTo is reading
	err    error // what went wrong with a file
}

func (b *uploadBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, io.ErrClosedPipe
	}
	for len(b.pieces) > 0 {
		now := b.pieces[0]
		if b.head < len(now.head) {
			n := copy(p, now.head[b.head:])
			b.head += n
			return n, nil
		}
		if now.src == nil {
			b.pieces, b.head = b.pieces[1:], 0
			continue
		}
		if b.file == nil {
			f, err := now.src.open()
			if err != nil {
				return 0, b.fail(err)
			}
			b.file, b.left = f, now.src.size
			if _, isFile := f.(*os.File); isFile && b.direct {
				return 0, nil // copyTo lets the kernel send it
			}
		}
		if b.left == 0 {
			b.file.Close()
			b.file, b.pieces, b.head = nil, b.pieces[1:], 0
			continue
		}
		n, err := b.file.Read(p[:min(int64(len(p)), b.left)])
		b.left -= int64(n)
		if err == io.EOF && b.left > 0 && n == 0 {
			err = fmt.Errorf("%w: it became shorter while it was sent", io.ErrUnexpectedEOF)
		}
		if err != nil && err != io.EOF {
			return n, b.fail(err)
		}
		if n > 0 || len(p) == 0 {
			return n, nil
		}
	}
	return 0, io.EOF
}

func (b *uploadBody) fail(err error) error {
	b.err = fmt.Errorf("reference: %w", err)
	return b.err
}

// failure returns what went wrong with a file, if anything did.
func (b *uploadBody) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

func (b *uploadBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.file == nil {
		return nil
	}
	err := b.file.Close()
	b.file = nil
	return err
}
