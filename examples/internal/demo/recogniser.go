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

// recogniser serves PocketSphinx on a port of its own. Where the programs are
// not installed it answers 503, saying so, and looks again: they may come.
type recogniser struct {
	url string
	log *slog.Logger

	mu      sync.Mutex
	handler http.Handler // nil until the programs are there
}

func startRecogniser(ctx context.Context, group *errgroup.Group, log *slog.Logger) (*recogniser, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &recogniser{url: "http://" + listener.Addr().String(), log: log}
	group.Go(func() error {
		return httpapi.Serve(ctx, httpapi.NewServer(r), listener, time.Second)
	})
	return r, nil
}

// missing returns why there is no recognition, or nil.
func (r *recogniser) missing() error {
	_, err := r.find()
	return err
}

func (r *recogniser) find() (http.Handler, error) {
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
func (r *recogniser) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	handler, err := r.find()
	if err != nil {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(http.StatusServiceUnavailable)
		json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": err.Error(), "type": "unavailable"}})
		return
	}
	handler.ServeHTTP(w, req)
}
