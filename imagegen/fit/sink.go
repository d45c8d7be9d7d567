package fit

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/semaphore"

	"lessonkit.example/imagegen"
)

// Sink returns a sink that crops every image before passing it to next. An image is held in memory,
// encoded, until it is committed, and 16 bytes for each of its pixels are reserved while it is
// cropped. What would take more than 256 MB, of all images of the sink, is passed on unchanged, and
// so are images of unsupported formats.
func Sink(next imagegen.Sink, c Config) imagegen.Sink {
	if c.OnUncropped == nil {
		c.OnUncropped = func(imagegen.Info, error) {}
	}
	return &sink{next: next, c: c, memory: semaphore.NewWeighted(maxMemory)}
}

type sink struct {
	next   imagegen.Sink
	c      Config
	memory *semaphore.Weighted // in bytes
}

func (s *sink) Prepare(ctx context.Context, n int) error {
	if err := s.c.check(); err != nil {
		return err
	}
	if p, ok := s.next.(imagegen.Preparer); ok {
		return p.Prepare(ctx, n)
	}
	return nil
}

func (s *sink) Open(ctx context.Context, info imagegen.Info) (imagegen.Blob, error) {
	if s.c.Ratio == "" && (s.c.Type == "" || s.c.Type == info.Type) {
		return s.next.Open(ctx, info)
	}
	if !supported(info.Type) {
		s.c.OnUncropped(info, fmt.Errorf("%w, not %s", ErrUnsupported, info.Type))
		return s.next.Open(ctx, info)
	}
	return &blob{ctx: ctx, s: s, info: info}, nil
}

// blob collects an image. Once next is open, the image is passed on unchanged.
type blob struct {
	ctx  context.Context
	s    *sink
	info imagegen.Info
	data []byte
	next imagegen.Blob

	cropped bool
}

const (
	minBuffer  = 64 << 10
	maxEncoded = maxMemory / 4 // leaves room for the pixels
)

func (b *blob) Write(p []byte) (int, error) {
	if b.next == nil && len(b.data)+len(p) > cap(b.data) && !b.grow(len(b.data)+len(p)) {
		err := fmt.Errorf("%w: its data has more than %d MB, or that of all images more than %d MB",
			ErrTooManyPixels, maxEncoded>>20, maxMemory>>20)
		if err := b.pass(err); err != nil {
			return 0, err
		}
	}
	if b.next != nil {
		return b.next.Write(p)
	}
	b.data = append(b.data, p...)
	return len(p), nil
}

// grow makes room for n bytes in b.data, or returns false.
func (b *blob) grow(n int) bool {
	size := min(max(n, 2*cap(b.data), minBuffer, int(min(b.info.Size, maxEncoded))), maxEncoded)
	if n > size || !b.s.memory.TryAcquire(int64(size)) {
		return false
	}
	old := b.data
	b.data = append(make([]byte, 0, size), old...)
	b.s.memory.Release(int64(cap(old)))
	return true
}

func (b *blob) free() {
	b.s.memory.Release(int64(cap(b.data)))
	b.data = nil
}

// pass passes on the collected data unchanged; err, if not nil, is why.
func (b *blob) pass(err error) error {
	if err != nil {
		b.s.c.OnUncropped(b.info, err)
	}
	return b.write(func() error {
		_, err := b.next.Write(b.data)
		return err
	})
}

// write opens the next blob and writes to it, and releases the collected data.
func (b *blob) write(write func() error) error {
	defer b.free()
	next, err := b.s.next.Open(b.ctx, b.info)
	if err != nil {
		return err
	}
	b.next = next
	if err := write(); err != nil {
		b.next = nil
		return errors.Join(err, next.Abort())
	}
	return nil
}

func (b *blob) Commit() error {
	if b.next == nil {
		if err := b.crop(); err != nil {
			return err
		}
	}
	return b.next.Commit()
}

// crop passes on the cropped image, or the whole one if it cannot be cropped.
func (b *blob) crop() error {
	b.info.Size = int64(len(b.data))
	p, err := newPlan(b.data, b.s.c)
	if err != nil || p.unchanged {
		return b.pass(err)
	}
	need := p.memory()
	if !b.s.memory.TryAcquire(need) {
		return b.pass(fmt.Errorf("%w: all images together take more than %d MB", ErrTooManyPixels, maxMemory>>20))
	}
	defer b.s.memory.Release(need)
	img, err := p.decode(b.data)
	if err != nil {
		return b.pass(err)
	}
	b.info.Type, b.info.Width, b.info.Height, b.info.Size = p.mediaType, p.w, p.h, 0
	b.info.Ext = map[string]string{"image/png": ".png", "image/jpeg": ".jpg"}[p.mediaType]
	b.cropped = true
	return b.write(func() error { return p.encode(counter{b}, img) })
}

// counter writes to the next blob and counts.
type counter struct{ b *blob }

func (c counter) Write(p []byte) (int, error) {
	n, err := c.b.next.Write(p)
	c.b.info.Size += int64(n)
	return n, err
}

func (b *blob) Abort() error {
	b.free()
	if b.next != nil {
		return b.next.Abort()
	}
	return nil
}

func (b *blob) Describe(info *imagegen.Info) {
	if b.cropped {
		info.Type, info.Ext = b.info.Type, b.info.Ext
		info.Width, info.Height, info.Size = b.info.Width, b.info.Height, b.info.Size
	}
	if d, ok := b.next.(imagegen.Describer); ok {
		d.Describe(info)
	}
}
