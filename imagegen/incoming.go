package imagegen

import (
	"context"
	"errors"
	"fmt"
)

// incoming is an image on its way from the connection to a sink. It detects type and dimensions,
// opens the sink as soon as the type is known, and keeps the first error.
type incoming struct {
	ctx      context.Context
	sink     Sink
	info     Info
	left     *int64 // bytes that the images of the call may still have
	declared string // media type from the server
	head     []byte
	dims     *dimensions
	size     int64
	counted  int64 // subtracted from left
	blob     Blob
	err      error

	sinkFailed bool // err is the sink's
}

const sniffBytes = 512

func (in *incoming) Write(p []byte) (int, error) {
	if in.err != nil {
		return 0, in.err
	}
	in.size += int64(len(p))
	in.counted += int64(len(p))
	*in.left -= int64(len(p))
	if *in.left < 0 {
		return 0, in.fail(fmt.Errorf("%w: the images have more than %d bytes", ErrTooLarge, maxResultBytes))
	}
	in.dims.write(p)
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

// start opens the sink and writes the bytes received so far.
func (in *incoming) start() error {
	mediaType := DetectType(in.head)
	switch {
	case len(in.head) == 0:
		return in.fail(fmt.Errorf("%w: it is empty", ErrNotImage))
	case mediaType == unknownType && isImage(in.declared):
		mediaType = in.declared
	case mediaType != unknownType && !isImage(mediaType):
		return in.fail(fmt.Errorf("%w: it is %s", ErrNotImage, mediaType))
	}
	in.info.Type, in.info.Ext = mediaType, extension(mediaType)
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

// finish is called after the last byte, or with the error that prevented it. It commits nothing.
func (in *incoming) finish(err error) {
	if err != nil {
		in.fail(err)
	}
	if in.err == nil && in.blob == nil {
		in.start()
	}
	in.info.Size = in.size
	in.info.Width, in.info.Height = in.dims.size()
}

// fail keeps the first error and aborts the blob.
func (in *incoming) fail(err error) error {
	if in.err == nil {
		in.err = err
		in.abort()
	}
	return in.err
}

func (in *incoming) storeFailed(err error) error {
	in.sinkFailed = true
	return in.fail(fmt.Errorf("%w: %w", ErrStore, err))
}

func (in *incoming) abort() {
	*in.left += in.counted
	in.counted = 0
	if in.blob != nil {
		if err := in.blob.Abort(); err != nil && in.err != nil {
			in.err = errors.Join(in.err, fmt.Errorf("clean up: %w", err))
		}
		in.blob = nil
	}
}

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
