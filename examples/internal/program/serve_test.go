package program_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/internal/program"
)

func serve(t *testing.T, h http.HandlerFunc, grace time.Duration) (url string, stop context.CancelFunc,
	ended <-chan error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- program.Serve(ctx, program.NewServer(h), l, grace) }()
	return "http://" + l.Addr().String(), cancel, done
}

// get returns what a server answers, or the error.
func get(url string) <-chan string {
	got := make(chan string, 1)
	go func() {
		resp, err := http.Get(url)
		if err != nil {
			got <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		got <- string(b)
	}()
	return got
}

func TestServeLetsRequestsFinish(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	url, stop, ended := serve(t, func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-leave
		io.WriteString(w, "whole")
	}, time.Minute)
	got := get(url)
	<-entered
	stop()
	close(leave)
	require.Equal(t, "whole", <-got)
	require.NoError(t, <-ended)
}

func TestServeLetsRequestsAnswerThatTheyWereCanceled(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	url, stop, ended := serve(t, func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
		io.WriteString(w, "canceled")
	}, 10*time.Millisecond)
	got := get(url)
	<-entered
	stop()
	require.Equal(t, "canceled", <-got)
	require.NoError(t, <-ended)
}
