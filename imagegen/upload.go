package imagegen

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"strconv"
)

// upload is a multipart form whose files are never held in memory. The headers of its parts are
// written beforehand, so its length is exact, and its body can be opened again for another attempt.
type upload struct {
	contentType string
	length      int64
	pieces      []piece
}

// piece is the text before a file, and the file; src is nil in the last piece.
type piece struct {
	head []byte
	src  *source
}

// attachment is a reference that has been checked and is ready to be sent.
type attachment struct {
	source
	name, mediaType string // name is that of partName
}

func newUpload(req *Request, files []attachment) *upload {
	var buf bytes.Buffer // writing to it does not fail
	w := multipart.NewWriter(&buf)
	u := &upload{contentType: w.FormDataContentType()}
	_ = w.WriteField("model", cmp.Or(req.Model, DefaultModel))
	_ = w.WriteField("prompt", req.Prompt)
	if req.N > 0 {
		_ = w.WriteField("n", strconv.Itoa(req.N))
	}
	if req.Size != "" {
		_ = w.WriteField("size", string(req.Size))
	}
	for i := range files {
		header := textproto.MIMEHeader{}
		header.Set("Content-Disposition", multipart.FileContentDisposition("image[]", files[i].name))
		header.Set("Content-Type", files[i].mediaType)
		_, _ = w.CreatePart(header)
		u.add(&buf, &files[i].source)
		u.length += files[i].size
	}
	_ = w.Close()
	u.add(&buf, nil)
	return u
}

func (u *upload) add(head *bytes.Buffer, src *source) {
	u.pieces = append(u.pieces, piece{bytes.Clone(head.Bytes()), src})
	u.length += int64(head.Len())
	head.Reset()
}

// open opens all files and returns the body from its beginning.
func (u *upload) open() (io.ReadCloser, error) {
	body := &uploadBody{}
	var all []io.Reader
	for _, p := range u.pieces {
		all = append(all, bytes.NewReader(p.head))
		if p.src == nil {
			continue
		}
		f, err := p.src.open()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("reference: %w", err), body.Close())
		}
		body.files = append(body.files, f)
		all = append(all, &fileReader{f, p.src.size})
	}
	body.Reader = io.MultiReader(all...)
	return body, nil
}

// uploadBody is one reading of an upload. net/http may close it while it is being read.
type uploadBody struct {
	io.Reader
	files []io.Closer
}

func (b *uploadBody) Close() error {
	var all []error
	for _, f := range b.files {
		all = append(all, f.Close())
	}
	return errors.Join(all...)
}

// fileReader reads exactly left bytes of a file. Its errors are of type referenceError.
type fileReader struct {
	file io.Reader
	left int64
}

// referenceError is why a reference could not be read while it was sent.
type referenceError struct{ error }

func (e referenceError) Error() string { return "reference: " + e.error.Error() }
func (e referenceError) Unwrap() error { return e.error }

func (r *fileReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n, err := r.file.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	if err == io.EOF {
		err = nil
		if r.left > 0 {
			err = fmt.Errorf("%w: it became shorter while it was sent", io.ErrUnexpectedEOF)
		}
	}
	if err != nil {
		err = referenceError{err}
	}
	return n, err
}
