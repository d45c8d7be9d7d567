package imagegen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// attach gets references ready to be sent: fetched or spooled where need be, their sizes and types known. Everything that can be
// wrong with them is found here, before anything is paid.
func (c *call) attach(ctx context.Context, refs []Ref) (files []attachment, free func(), err error) {
	free = func() {
		for _, f := range files {
			if f.free != nil {
				f.free()
			}
		}
	}
	for i, ref := range refs {
		f, err := c.look(ctx, ref, i)
		if err != nil {
			free()
			permanent := slices.ContainsFunc([]error{ErrNotImage, ErrTooLarge, ErrBlockedAddress, errBase64, fs.ErrNotExist, fs.ErrPermission},
				func(target error) bool { return errors.Is(err, target) })
			return nil, nil, &Error{Op: "reference", Err: fmt.Errorf("%d %q: %w", i+1, clean(ref.name, 128), err), permanent: permanent}
		}
		files = append(files, f)
	}
	return files, free, nil
}

// look makes one reference ready.
func (c *call) look(ctx context.Context, ref Ref, index int) (attachment, error) {
	load := ref.load
	if ref.url != "" {
		load = func() (source, error) { return c.fetchRef(ctx, ref.url) }
	}
	if load == nil {
		return attachment{}, fmt.Errorf("%w: it has neither data nor an address", ErrInvalidRequest)
	}
	src, err := load()
	if err != nil {
		return attachment{}, err
	}
	f := attachment{source: src}
	kind, err := f.look(ref, c.config.Limits.RefBytes)
	if err != nil {
		if src.free != nil {
			src.free()
		}
		return attachment{}, err
	}
	f.mediaType, f.name = kind, partName(ref.name, kind, index)
	return f, nil
}

// look checks size and type: the declared type, else the one the data shows, else the one the name tells.
func (f attachment) look(ref Ref, limit int64) (string, error) {
	if f.size > limit {
		return "", fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, f.size, limit)
	}
	if f.size <= 0 {
		return "", fmt.Errorf("%w: it is empty", ErrNotImage)
	}
	kind := ref.kind
	if kind == "" {
		r, err := f.open()
		if err != nil {
			return "", err
		}
		defer r.Close()
		head, err := io.ReadAll(io.LimitReader(r, sniffBytes))
		if err != nil {
			return "", err
		}
		if kind = sniff(head); kind == unknownType {
			kind = typeByExtension(path.Ext(ref.name))
		}
	}
	if !isImage(kind) || strings.ContainsFunc(kind, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "", fmt.Errorf("%w: its type is %q", ErrNotImage, clean(kind, 100))
	}
	return kind, nil
}

// fetchRef reads a reference behind an address, without the key.
func (c *call) fetchRef(parent context.Context, address string) (source, error) {
	u, err := fetchable(nil, address)
	if err != nil {
		return source{}, fmt.Errorf("%w: %w", ErrInvalidRequest, err)
	}
	ctx, cancel := context.WithTimeout(parent, c.config.Fetch.Timeout)
	defer cancel()
	for try := 1; ; try++ {
		src, err := c.tryRef(ctx, u)
		if err == nil {
			return src, nil
		}
		err = timeLimit(parent, ctx, c.config.Fetch.Timeout, cause(err))
		var passing interface{ Temporary() bool }
		if ctx.Err() != nil || try == fetchTries || hopeless(err) || errors.Is(err, ErrTooLarge) || errors.As(err, &passing) && !passing.Temporary() {
			return source{}, fmt.Errorf("%s: %w", redact(address), err)
		}
		if pause(ctx, c.config.Retry.backoff(try)) != nil {
			return source{}, fmt.Errorf("%s: %w", redact(address), err)
		}
	}
}

func (c *call) tryRef(ctx context.Context, u *url.URL) (source, error) {
	resp, err := c.get(ctx, u, false)
	if err != nil {
		return source{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return source{}, statusError(resp.StatusCode)
	}
	limit := c.config.Limits.RefBytes
	if resp.ContentLength > limit {
		return source{}, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, resp.ContentLength, limit)
	}
	src, err := spool(io.LimitReader(resp.Body, limit+1))
	if err == nil && resp.ContentLength >= 0 && src.size < resp.ContentLength {
		err = io.ErrUnexpectedEOF
	}
	return src, err
}

// statusError is the status of a reference that could not be fetched.
type statusError int

func (s statusError) Error() string {
	return fmt.Sprintf("status %d %s", int(s), http.StatusText(int(s)))
}

// Temporary reports whether another try may bring it.
func (s statusError) Temporary() bool { return s == 429 || s >= 500 }
