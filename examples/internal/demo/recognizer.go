package demo

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"lessonkit.example/asr/asrhttp"
	"lessonkit.example/asr/command"
	"lessonkit.example/internal/httpapi"
)

// recognizer serves PocketSphinx over HTTP. While its programs are not installed it answers 503 and
// looks for them again at each request.
type recognizer struct {
	url string
	log *slog.Logger

	mu      sync.Mutex
	handler http.Handler // nil until the programs are found
}

func startRecognizer(ctx context.Context, group *errgroup.Group, log *slog.Logger) (*recognizer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &recognizer{url: "http://" + listener.Addr().String(), log: log}
	group.Go(func() error {
		return httpapi.Serve(ctx, httpapi.NewServer(r), listener, time.Second)
	})
	return r, nil
}

// find returns the handler of recordings. Its error names the programs that are missing.
func (r *recognizer) find() (http.Handler, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.handler != nil {
		return r.handler, nil
	}
	config := command.PocketSphinx()
	config.Concurrency = 2
	config.Logger = r.log
	program, err := command.New(config)
	if err != nil {
		return nil, err
	}
	handler, err := asrhttp.New(asrhttp.Config{Recognizer: program, Logger: r.log})
	if err != nil {
		return nil, err
	}
	r.handler = handler
	return handler, nil
}

// ServeHTTP implements http.Handler.
func (r *recognizer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	handler, err := r.find()
	if err != nil {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(http.StatusServiceUnavailable)
		problem := map[string]string{"message": err.Error(), "type": "unavailable"}
		_ = json.NewEncoder(w).Encode(map[string]any{"error": problem})
		return
	}
	handler.ServeHTTP(w, req)
}
