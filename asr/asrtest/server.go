package asrtest

import (
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Dialect names a kind of server.
type Dialect string

// The dialects that NewServer speaks.
const (
	WhisperCPP        Dialect = "whisper.cpp"           // /inference, decodes wav, mp3, flac and ogg by itself
	WhisperCPPConvert Dialect = "whisper.cpp --convert" // the same with ffmpeg, 500 for garbage
	WhisperCPPOld     Dialect = "whisper.cpp of 2024"   // 200 with an error in it, no /health
	OpenAI            Dialect = "openai"                // the contract itself
	Speaches          Dialect = "speaches"              // FastAPI; the model must be installed
	VLLM              Dialect = "vllm"                  // refuses verbose_json for some models
	LocalAI           Dialect = "localai"               // /readyz, 500 for garbage
	FunASR            Dialect = "funasr openai_api"     // its own model names, answers nothing while it works
	FunASRCLI         Dialect = "funasr cli"            // text as a JSON string
	FunASRLlama       Dialect = "funasr llama.cpp"      // needs Content-Length
	FunASRRecognition Dialect = "funasr python http"    // /recognition, field audio
	FunASRRuntime     Dialect = "funasr c++ http"       // every path, all parts are audio
	Flash             Dialect = "tencent flash"         // signature checked
	API3              Dialect = "tencent api 3.0"       // TC3 signature checked
)

// LocalDialects are the dialects that asr/local speaks.
func LocalDialects() []Dialect {
	return []Dialect{
		WhisperCPP, WhisperCPPConvert, WhisperCPPOld, OpenAI, Speaches, VLLM, LocalAI,
		FunASR, FunASRCLI, FunASRLlama, FunASRRecognition, FunASRRuntime,
	}
}

// Fault is something that goes wrong.
type Fault string

// The faults that SetFault sets. Not every one makes sense for every dialect.
const (
	NoFault      Fault = ""
	Loading      Fault = "loading"      // the model is being loaded
	Busy         Fault = "busy"         // 429 with Retry-After: 7
	BusyDate     Fault = "busy date"    // 503 with Retry-After as a date in the future
	Gateway      Fault = "gateway"      // 502 with a page of HTML
	GatewaySlow  Fault = "gateway slow" // 504: a proxy gave up, the recogniser goes on
	Failure      Fault = "failure"      // 500
	ErrorIn200   Fault = "error in 200" // 200 with an error inside
	Hang         Fault = "hang"         // takes the request and never answers
	Cut          Fault = "cut"          // the answer breaks off
	Reset        Fault = "reset"        // the connection ends without an answer
	Redirect     Fault = "redirect"     // 302 to another path
	HTML         Fault = "html"         // 200 with a page of HTML
	Unauthorized Fault = "unauthorized" // 401
	NoModel      Fault = "no model"     // the model is not there
	TooLarge     Fault = "too large"    // 413
	Unprocessed  Fault = "unprocessed"  // 422
	Gone         Fault = "gone"         // 404 for the path
	Endlessly    Fault = "endless"      // an answer that does not end
	NoText       Fault = "no text"      // 200 and JSON without text
)

// Request is a recording that a fake received.
type Request struct {
	Path          string
	Query         string
	Authorization string
	ContentLength int64    // -1: chunked
	Names         []string // of the form's parts, in order
	Fields        map[string]string
	FileName      string
	FileType      string
	Size          int64
}

// Server is a fake server. Its methods may be called by several goroutines at once.
type Server struct {
	// URL is its address.
	URL string

	dialect Dialect
	http    *httptest.Server
	handler http.Handler

	mu       sync.Mutex
	fault    Fault
	requests []Request
	paths    []string
	key      string
	models   []string
	tasks    map[uint64]*task
	done     chan struct{} // closed at the end, releases what hangs
}

// NewServer starts a fake, which ends with the test.
func NewServer(t testing.TB, d Dialect) *Server {
	t.Helper()
	s := &Server{dialect: d, done: make(chan struct{}), models: []string{"tiny"}, tasks: map[uint64]*task{}}
	switch d {
	case Flash:
		s.handler = http.HandlerFunc(s.serveFlash)
	case API3:
		s.handler = http.HandlerFunc(s.serveAPI3)
	default:
		s.handler = http.HandlerFunc(s.serveLocal)
	}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	t.Cleanup(s.Close)
	return s
}

// Close ends the server, and what hangs in it. It may be called more than once.
func (s *Server) Close() {
	s.mu.Lock()
	select {
	case <-s.done:
	default:
		close(s.done)
	}
	s.mu.Unlock()
	s.http.CloseClientConnections()
	s.http.Close()
}

// SetFault makes every further request go wrong, until another fault or NoFault is set.
func (s *Server) SetFault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// SetKey makes the server ask for this bearer token.
func (s *Server) SetKey(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key
}

// SetModels says which models the server has. The default is one, "tiny".
func (s *Server) SetModels(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models = names
}

// Requests are the recordings received until now, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Paths are the method and path of all requests until now, oldest first: "GET /health".
func (s *Server) Paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.paths...)
}

func (s *Server) state() (fault Fault, key string, models []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault, s.key, s.models
}

func (s *Server) received(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.paths = append(s.paths, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	s.handler.ServeHTTP(w, r)
}

// commonFault answers with a fault that looks the same in every dialect. The body has been read.
func (s *Server) commonFault(w http.ResponseWriter, r *http.Request, f Fault) bool {
	page := "<!DOCTYPE html><html><head><title>Error</title></head><body>nginx</body></html>"
	switch f {
	case Busy:
		w.Header().Set("Retry-After", "7")
		http.Error(w, "slow down", http.StatusTooManyRequests)
	case BusyDate:
		w.Header().Set("Retry-After", "Fri, 01 Jan 2100 00:00:00 GMT")
		http.Error(w, "come back", http.StatusServiceUnavailable)
	case Gateway:
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, page)
	case GatewaySlow:
		w.WriteHeader(http.StatusGatewayTimeout)
		_, _ = io.WriteString(w, page)
	case Hang:
		select {
		case <-r.Context().Done():
		case <-s.done:
		}
		panic(http.ErrAbortHandler)
	case Cut:
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"text": "this answer bre`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case Reset:
		panic(http.ErrAbortHandler)
	case Redirect:
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	case HTML:
		_, _ = io.WriteString(w, page)
	case Unauthorized:
		http.Error(w, `{"detail":"wrong key"}`, http.StatusUnauthorized)
	case TooLarge:
		http.Error(w, `{"error":"too large"}`, http.StatusRequestEntityTooLarge)
	case Endlessly:
		_, _ = io.WriteString(w, `{"text":"`)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
				break
			}
		}
	default:
		return false
	}
	return true
}

// readForm reads a multipart form and listens to the file in one of the named fields.
func readForm(r *http.Request, fileFields ...string) (Request, *listener, bool) {
	req := Request{
		Path: r.URL.Path, Query: r.URL.RawQuery, Authorization: r.Header.Get("Authorization"),
		ContentLength: r.ContentLength, Fields: map[string]string{},
	}
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || params["boundary"] == "" {
		return req, nil, false
	}
	var heard *listener
	reader := multipart.NewReader(r.Body, params["boundary"])
	for {
		part, err := reader.NextPart()
		if err == io.EOF {
			_, _ = io.Copy(io.Discard, r.Body)
			return req, heard, true
		}
		if err != nil {
			return req, nil, false
		}
		name := part.FormName()
		req.Names = append(req.Names, name)
		isFile := false
		for _, f := range fileFields {
			isFile = isFile || f == name
		}
		if !isFile {
			value, err := io.ReadAll(part)
			if err != nil {
				return req, nil, false
			}
			req.Fields[name] = string(value)
			continue
		}
		heard = newListener()
		req.FileName, req.FileType = part.FileName(), part.Header.Get("Content-Type")
		if req.Size, err = io.Copy(heard, part); err != nil {
			return req, nil, false
		}
	}
}
