package asrhttp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// shutdownTimeout is how long Serve lets requests finish.
const shutdownTimeout = 10 * time.Second

// Serve serves HTTP requests on l until ctx ends, with timeouts for slow and idle clients. It then
// lets requests finish for up to ten seconds, cancels those that remain, and returns nil. There is
// no TLS and no authentication.
func (h *Handler) Serve(ctx context.Context, l net.Listener) error {
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		BaseContext:       func(net.Listener) context.Context { return requests },
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	timeout, stop := context.WithTimeout(requests, shutdownTimeout)
	defer stop()
	err := server.Shutdown(timeout)
	if errors.Is(err, context.DeadlineExceeded) {
		cancel()
		err = server.Close()
	}
	return err
}
