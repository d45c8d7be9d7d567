package imagegen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	fetchTries     = 7 // of one result, which is paid: they outlast half a minute without a network
	referenceTries = 3
	fetchPeriod    = time.Minute // after which no result is tried more often than a reference
	maxRedirects   = 3
)

// fetchImage stores the image at address. Fetching costs nothing, so it is retried freely, each
// time from the beginning: after network faults, and when the host does not have the image yet.
func (c *call) fetchImage(
	ctx context.Context, sink Sink, info Info, address string, refresh func(context.Context) ([]item, error),
) (*incoming, error) {
	var first *Error
	began := time.Now()
	for try := 1; ; try++ {
		in, e := c.download(ctx, sink, info, address)
		if e == nil {
			return in, nil
		}
		c.log.LogAttrs(ctx, slog.LevelWarn, "fetch failed", slog.Int("try", try), slog.Any("error", e))
		if in != nil && in.sinkFailed && first != nil { // it may be one that cannot be retried, as a Writer
			first.Err = fmt.Errorf("%w; again: %w", first.Err, e.Err)
			return nil, first
		}
		first = cmp.Or(first, e)
		if ctx.Err() != nil || in != nil && in.sinkFailed || errors.Is(e, ErrTooLarge) {
			return nil, e
		}
		expired := e.Status == 403 || e.Status == 404 || e.Status == 410
		if expired && refresh != nil {
			if images, err := refresh(ctx); err == nil { // a new poll returns newly signed URLs
				if info.Index < len(images) && images[info.Index].URL != "" {
					address = string(images[info.Index].URL)
				}
				refresh = nil
				continue
			}
		}
		switch {
		case try >= fetchTries || !expired && !e.retryFetch(),
			try >= referenceTries && time.Since(began) > fetchPeriod:
			return nil, e
		case sleep(ctx, min(max(backoff(try), e.retryAfter), maxBackoff)) != nil:
			return nil, e
		}
	}
}

// download stores and commits the image at address.
func (c *call) download(parent context.Context, sink Sink, info Info, address string) (*incoming, *Error) {
	u, err := parseURL(c.base, address)
	if err != nil {
		return nil, &Error{Op: "fetch", TaskID: info.TaskID, Err: err, permanent: true}
	}
	ctx, cancel := withLimit(parent, c.config.Timeout)
	defer cancel()
	resp, e := c.open(ctx, u, true)
	if e != nil {
		e.TaskID, e.Err = info.TaskID, whyEnded(ctx, e.Err)
		return nil, e
	}
	defer resp.Body.Close()
	info.URL, info.Size = redact(u.String()), max(resp.ContentLength, 0)
	in := c.incoming(ctx, sink, info)
	in.declared, _ = cutText(resp.Header.Get("Content-Type"))
	body := newBodyReader(ctx, resp.Body)
	defer body.timer.Stop()
	if resp.ContentLength > c.left { // before a gigabyte has been read for nothing
		in.fail(fmt.Errorf("%w: image of %d bytes, at most %d", ErrTooLarge, resp.ContentLength, c.left))
	}
	_, err = io.CopyBuffer(in, body, make([]byte, scanBuffer))
	in.finish(err)
	if err := in.commit(); err != nil {
		e := fetchError(u, err)
		e.TaskID, e.permanent = info.TaskID, errors.Is(err, ErrNotImage)
		return in, e
	}
	return in, nil
}

// open requests u and returns the response, whose status is 200.
func (c *call) open(ctx context.Context, u *url.URL, result bool) (*http.Response, *Error) {
	resp, err := c.get(ctx, u, result)
	if err != nil {
		return nil, fetchError(u, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	resp.Body.Close()
	e := fetchError(u, errors.New(http.StatusText(resp.StatusCode)))
	e.Status, e.retryAfter = resp.StatusCode, retryAfter(resp.Header)
	return nil, e
}

func fetchError(u *url.URL, err error) *Error {
	return &Error{Op: "fetch", Err: fmt.Errorf("%s: %w", redact(u.String()), cause(err)), permanent: isPermanent(err)}
}

// get follows at most three redirects. Each hop uses the client that fits it: the service's for the
// service's host, which the caller configured and so trusts, and the guarded one for all others.
// The API key is sent to the service's own origin only, and only for results. References reach the
// service at its own origin only.
func (c *call) get(ctx context.Context, u *url.URL, result bool) (*http.Response, error) {
	for hop := 0; ; hop++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Accept", "image/*")
		client := c.fetcher
		own := origin(u) == origin(c.base)
		if own || result && strings.EqualFold(u.Hostname(), c.base.Hostname()) {
			client = c.service
		}
		if result {
			c.authorize(req)
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		location := resp.Header.Get("Location")
		if resp.StatusCode < 300 || resp.StatusCode > 399 || location == "" {
			return resp, nil
		}
		resp.Body.Close()
		if hop == maxRedirects {
			return nil, fmt.Errorf("more than %d redirects", maxRedirects)
		}
		if u, err = parseURL(u, location); err != nil {
			return nil, err
		}
	}
}
