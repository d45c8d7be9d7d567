package local

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"

	"lessonkit.example/asr/internal/source"
)

// form is a multipart form whose length is known before it is sent, without holding the recording: what comes before the recording and
// what comes after it are made in memory.
type form struct {
	head, tail  []byte
	contentType string
	src         *source.Source
	size        int64
	failure     source.Failure
}

func newForm(ep endpoint, fields []field, src *source.Source) *form {
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	for _, f := range fields {
		_ = w.WriteField(f.name, f.value) // a bytes.Buffer takes everything
	}
	// Some servers go by the name's ending, so it is that of the format, whatever the recording was called.
	h := textproto.MIMEHeader{}
	h.Set("Content-Disposition", fmt.Sprintf(`form-data; name=%q; filename="audio.%s"`, ep.fileField, src.Info.Format))
	h.Set("Content-Type", src.Info.Format.ContentType())
	_, _ = w.CreatePart(h)
	buf.Write(src.Prefix)
	n := buf.Len()
	_ = w.Close()
	return &form{
		head: buf.Bytes()[:n:n], tail: buf.Bytes()[n:], contentType: w.FormDataContentType(), src: src,
		size: int64(buf.Len()) + src.Size - int64(len(src.Prefix)),
	}
}

// request makes the POST. again opens the recording anew, for when a kept connection turns out to be dead before anything was sent on it.
func (f *form) request(ctx context.Context, url string, again func() (*source.Source, error)) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, f.body(f.src))
	if err != nil {
		return nil, err
	}
	req.ContentLength = f.size
	// One connection for each recording. A kept one saves nothing beside the work, may be closed by the server just when the next recording is
	// sent on it, and holds one of the few threads of some servers.
	req.Close = true
	req.GetBody = func() (io.ReadCloser, error) {
		src, err := again()
		if err != nil {
			return nil, err
		}
		return f.body(src), nil
	}
	req.Header.Set("Content-Type", f.contentType)
	req.Header.Set("Accept", "application/json")
	return req, nil
}

func (f *form) body(src *source.Source) io.ReadCloser {
	return source.NewBody(f.head, src, f.tail, &f.failure)
}
