package asr

import (
	"io"
	"net"
	"net/http"

	"lessonkit.example/internal/bench/harness"
)

// drain runs in a child process, so that its work is not measured: it serves HTTP, reports its
// address, and discards what it receives.
func drain(struct{}) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"code":0,"text":"x","flash_result":[{"text":"x"}]}`)
	}))
	if err := harness.Report(l.Addr().String()); err != nil {
		return err
	}
	<-harness.UntilStopped().Done()
	return nil
}
