package program

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// NewServer returns a server with limits against slow and idle clients. There is no limit on a
// whole request: uploads and event streams have deadlines of their own.
func NewServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
}

// answerTime is how long canceled requests may take to answer, and to delete their temporary files.
const answerTime = 3 * time.Second

// Serve serves on l until ctx ends, then gives requests until timeout to finish, cancels the
// contexts of those that do not, and after three more seconds closes their connections.
func Serve(ctx context.Context, s *http.Server, l net.Listener, timeout time.Duration) error {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s.BaseContext = func(net.Listener) context.Context { return base }

	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	stop, stopped := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer stopped()
	err := s.Shutdown(stop)
	if errors.Is(err, context.DeadlineExceeded) {
		cancel()
		answered, stopped := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
		defer stopped()
		if err = s.Shutdown(answered); err != nil {
			err = s.Close()
		}
	}
	if served := <-served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
