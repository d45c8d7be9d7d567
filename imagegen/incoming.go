package imagegen

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// incoming is an image on its way from the connection to a sink: it finds out type and dimensions, opens the sink as soon as the
// type is known, and keeps the first thing that goes wrong.
type incoming struct {
	ctx   context.Context
	sink  Sink
	info  Info
	limit int64
	note  func(n int64) // told about progress now and then
	hint  string        // media type the server declared
	head  []byte
	dims  dimensions
	size  int64
	noted int64
	blob  Blob
	err   error

	sinkFailed bool // err is the sink's
}

const (
	sniffBytes    = 512
	progressBytes = 256 << 10
)

// Write implements io.Writer.
func (in *incoming) Write(p []byte) (int, error) {
	if in.err != nil {
		return 0, in.err
	}
	in.size += int64(len(p))
	if in.size > in.limit {
		return 0, in.fail(fmt.Errorf("%w: image of more than %d bytes", ErrTooLarge, in.limit))
	}
	in.dims.write(p)
	if in.note != nil && in.size-in.noted >= progressBytes {
		in.noted = in.size
		in.note(in.size)
	}
	rest := p
	if in.blob == nil {
		n := min(len(p), sniffBytes-len(in.head))
		in.head = append(in.head, p[:n]...)
		if rest = p[n:]; len(in.head) < sniffBytes {
			return len(p), nil
		}
		if err := in.start(); err != nil {
			return 0, err
		}
	}
	if len(rest) > 0 {
		if _, err := in.blob.Write(rest); err != nil {
			return 0, in.storeFailed(err)
		}
	}
	return len(p), nil
}

// start opens the sink and hands over the bytes held so far.
func (in *incoming) start() error {
	kind := sniff(in.head)
	switch {
	case len(in.head) == 0:
		return in.fail(fmt.Errorf("%w: it is empty", ErrNotImage))
	case kind == unknownType && isImage(in.hint):
		kind = in.hint
	case kind != unknownType && !isImage(kind):
		return in.fail(fmt.Errorf("%w: it is %s", ErrNotImage, kind))
	}
	in.info.Type, in.info.Ext = kind, extension(kind)
	in.info.Width, in.info.Height = in.dims.size()
	blob, err := in.sink.Open(in.ctx, in.info)
	if err != nil {
		return in.storeFailed(err)
	}
	in.blob = blob
	if _, err := blob.Write(in.head); err != nil {
		return in.storeFailed(err)
	}
	in.head = nil
	return nil
}

// finish is told that all bytes have come, or why not. Nothing is committed yet.
func (in *incoming) finish(err error) {
	if err != nil {
		in.fail(err)
	}
	if in.err == nil && in.blob == nil {
		in.start()
	}
	if in.err == nil {
		in.info.Size = in.size
		in.info.Width, in.info.Height = in.dims.size()
	}
}

// fail keeps the first error and lets go of what was stored.
func (in *incoming) fail(err error) error {
	if in.err == nil {
		in.err = err
		in.abort()
	}
	return in.err
}

func (in *incoming) storeFailed(err error) error {
	in.sinkFailed = true
	return in.fail(fmt.Errorf("store: %w", err))
}

func (in *incoming) abort() {
	if in.blob != nil {
		if err := in.blob.Abort(); err != nil && in.err != nil {
			in.err = errors.Join(in.err, fmt.Errorf("clean up: %w", err))
		}
		in.blob = nil
	}
}

// commit makes the image visible.
func (in *incoming) commit() error {
	if in.err != nil {
		return in.err
	}
	blob := in.blob
	in.blob = nil
	if err := blob.Commit(); err != nil {
		return in.storeFailed(err)
	}
	if d, ok := blob.(Describer); ok {
		d.Describe(&in.info)
	}
	return nil
}

const unknownType = "application/octet-stream"

// sniff returns the media type of data that begins with head, unknownType when it is of no known kind.
func sniff(head []byte) string {
	if len(head) >= 12 && string(head[4:8]) == "ftyp" {
		switch string(head[8:12]) {
		case "avif", "avis":
			return "image/avif"
		case "heic", "heix", "heim", "heis", "hevc", "mif1", "msf1":
			return "image/heic"
		}
	}
	kind := http.DetectContentType(head)
	if kind, isText := cutText(kind); isText {
		if looksSVG(head) {
			return "image/svg+xml"
		}
		return kind
	}
	return kind
}
