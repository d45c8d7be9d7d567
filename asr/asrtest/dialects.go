package asrtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"lessonkit.example/asr/audiofile"
)

// dialect is what the servers of one dialect have in common.
type dialect struct {
	path      string // of the transcription
	fileField string
	needModel bool // refuses a model that it does not have
	verbose   bool // gives segments
	models    bool // has /v1/models
}

func (d Dialect) rules() dialect {
	switch d {
	case WhisperCPP, WhisperCPPConvert, WhisperCPPOld:
		return dialect{path: "/inference", fileField: "file", verbose: true}
	case FunASRRecognition:
		return dialect{path: "/recognition", fileField: "audio"}
	case FunASRLlama, FunASRRuntime:
		return dialect{path: "/v1/audio/transcriptions", fileField: "file"}
	case OpenAI, LocalAI:
		return dialect{path: "/v1/audio/transcriptions", fileField: "file", verbose: true, models: true, needModel: true}
	case VLLM:
		return dialect{path: "/v1/audio/transcriptions", fileField: "file", models: true, needModel: true}
	}
	return dialect{path: "/v1/audio/transcriptions", fileField: "file", verbose: true, models: true, needModel: true}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

type object = map[string]any

func (s *Server) serveLocal(w http.ResponseWriter, r *http.Request) {
	if s.dialect == FunASRRuntime {
		s.serveRuntime(w, r)
		return
	}
	rules := s.dialect.rules()
	fault, key, models := s.state()
	if key != "" && r.Header.Get("Authorization") != "Bearer "+key {
		if s.dialect == Speaches {
			answer(w, http.StatusForbidden, object{"detail": "Not authenticated"})
			return
		}
		answer(w, http.StatusUnauthorized, object{"error": object{"message": "Incorrect API key provided"}})
		return
	}
	switch {
	case r.URL.Path == rules.path && fault == Gone:
		s.missing(w, r)
	case r.URL.Path == rules.path && r.Method == http.MethodPost:
		s.transcribe(w, r, rules, fault, models)
	case r.URL.Path == rules.path:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case r.URL.Path == "/v1/models" && rules.models && r.Method == http.MethodGet:
		s.list(w, fault, models)
	case r.Method == http.MethodGet:
		s.health(w, r, fault, models)
	default:
		s.missing(w, r)
	}
}

// missing is each server's way to say that there is nothing.
func (s *Server) missing(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	switch s.dialect {
	case WhisperCPP, WhisperCPPConvert, WhisperCPPOld:
		http.Error(w, "File Not Found ("+r.URL.Path+")", http.StatusNotFound)
	case Speaches, VLLM, FunASR, FunASRCLI, FunASRRecognition:
		answer(w, http.StatusNotFound, object{"detail": "Not Found"})
	case LocalAI:
		answer(w, http.StatusNotFound, object{"error": object{"code": 404, "message": "Resource not found", "type": ""}})
	default:
		http.NotFound(w, r)
	}
}

// health follows each server's own idea of it.
func (s *Server) health(w http.ResponseWriter, r *http.Request, fault Fault, models []string) {
	if fault == Hang {
		select {
		case <-r.Context().Done():
		case <-s.done:
		}
		panic(http.ErrAbortHandler)
	}
	loading := fault == Loading
	switch path := r.URL.Path; {
	case path == "/health" && (s.dialect == WhisperCPP || s.dialect == WhisperCPPConvert):
		if loading {
			s.missing(w, r) // meant as 503, rewritten by the server's own error handler
			return
		}
		answer(w, 200, object{"status": "ok"})
	case path == "/health" && s.dialect == Speaches:
		answer(w, 200, object{"message": "OK"})
	case path == "/health" && s.dialect == VLLM:
		if loading {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	case path == "/readyz" && s.dialect == LocalAI:
		if loading {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	case path == "/healthz" && s.dialect == LocalAI:
	case path == "/health" && (s.dialect == FunASR || s.dialect == FunASRCLI):
		loaded := models
		if loading {
			loaded = []string{}
		}
		h := object{"status": "ok", "device": "cpu", "models_loaded": loaded}
		if s.dialect == FunASR {
			h["models_available"] = models
		}
		answer(w, 200, h)
	case path == "/health" && s.dialect == FunASRLlama:
		answer(w, 200, object{"status": "ok"})
	case path == "/docs" && s.dialect == FunASRRecognition:
		_, _ = io.WriteString(w, "<!DOCTYPE html><html></html>")
	default:
		s.missing(w, r)
	}
}

func (s *Server) list(w http.ResponseWriter, fault Fault, models []string) {
	data := []object{}
	for _, m := range models {
		o := object{"id": m, "object": "model"}
		switch s.dialect {
		case Speaches:
			o["task"] = "automatic-speech-recognition"
		case FunASR:
			o["ready"] = fault != Loading
		}
		data = append(data, o)
	}
	if s.dialect == Speaches {
		data = append([]object{{"id": "kokoro", "object": "model", "task": "text-to-speech"}}, data...)
		if len(models) == 0 {
			data = []object{}
		}
	}
	answer(w, 200, object{"object": "list", "data": data})
}

func (s *Server) transcribe(w http.ResponseWriter, r *http.Request, rules dialect, fault Fault, models []string) {
	if s.dialect == FunASRLlama && r.ContentLength < 0 {
		answer(w, 400, object{"error": object{"message": "expected multipart/form-data"}})
		return
	}
	req, heard, ok := readForm(r, rules.fileField)
	if !ok {
		answer(w, 400, object{"error": object{"message": "expected multipart/form-data"}})
		return
	}
	if rules.needModel && s.dialect == Speaches && !slices.Contains(models, req.Fields["model"]) && req.Fields["model"] != "" {
		s.wrongModel(w, req.Fields["model"], models)
		return
	}
	if heard == nil {
		s.noFile(w)
		return
	}
	s.received(req)
	if s.commonFault(w, r, fault) {
		return
	}
	switch fault {
	case Failure:
		answer(w, 500, object{"detail": "CUDA error: out of memory"})
		return
	case ErrorIn200:
		if s.dialect == FunASRRecognition {
			answer(w, 200, object{"msg": "decode failed", "code": 1})
			return
		}
		answer(w, 200, object{"error": "failed to process audio"})
		return
	case Unprocessed:
		answer(w, 422, object{"detail": []object{{"loc": []any{"body", "file"}, "msg": "cannot be decoded"}}})
		return
	case NoModel:
		s.wrongModel(w, req.Fields["model"], nil)
		return
	case NoText:
		answer(w, 200, object{"result": 1})
		return
	}
	if rules.needModel && !slices.Contains(models, req.Fields["model"]) {
		s.wrongModel(w, req.Fields["model"], models)
		return
	}
	if s.dialect == VLLM && req.Fields["response_format"] == "verbose_json" {
		answer(w, 400, object{"error": object{"message": "Currently do not support verbose_json for tiny", "type": "BadRequestError", "param": nil, "code": 400}})
		return
	}
	format := audiofile.Sniff(heard.head)
	if s.dialect == WhisperCPP && (format == audiofile.AAC || format == audiofile.M4A) {
		http.Error(w, "Invalid request", http.StatusBadRequest) // without --convert
		return
	}
	if heard.damaged() || format == "" {
		s.undecodable(w)
		return
	}
	s.transcript(w, heard.text(), req.Fields["response_format"])
}

func (s *Server) wrongModel(w http.ResponseWriter, name string, models []string) {
	switch s.dialect {
	case Speaches:
		answer(w, 404, object{"detail": fmt.Sprintf("Model '%s' is not installed locally. You can download the model using `POST /v1/models`", name)})
	case FunASR, FunASRCLI:
		answer(w, 400, object{"detail": fmt.Sprintf("Model '%s' not found. Available: %q", name, models)})
	default:
		answer(w, 404, object{"error": object{"message": fmt.Sprintf("The model `%s` does not exist.", name), "type": "NotFoundError", "param": "model", "code": 404}})
	}
}

func (s *Server) noFile(w http.ResponseWriter) {
	switch s.dialect {
	case WhisperCPP, WhisperCPPConvert:
		http.Error(w, "Invalid request", http.StatusBadRequest)
	case WhisperCPPOld:
		answer(w, 200, object{"error": "no 'file' field in the request"})
	case Speaches, VLLM, FunASR, FunASRCLI, FunASRRecognition:
		answer(w, 422, object{"detail": []object{{"type": "missing", "loc": []any{"body", "file"}, "msg": "Field required"}}})
	default:
		answer(w, 400, object{"error": object{"message": "file is required"}})
	}
}

func (s *Server) undecodable(w http.ResponseWriter) {
	switch s.dialect {
	case WhisperCPP:
		http.Error(w, "Invalid request", http.StatusBadRequest)
	case WhisperCPPConvert:
		answer(w, 500, object{"error": "FFmpeg conversion failed."})
	case WhisperCPPOld:
		answer(w, 200, object{"error": "failed to read audio data"})
	case Speaches:
		answer(w, 415, object{"detail": "Failed to decode audio"})
	case FunASR, FunASRCLI:
		answer(w, 500, object{"detail": "Invalid data found when processing input"})
	case LocalAI:
		answer(w, 500, object{"error": object{"code": 500, "message": "rpc error: ffmpeg exited with status 1", "type": ""}})
	case FunASRRecognition:
		answer(w, 200, object{"msg": "decode failed", "code": 1})
	default:
		answer(w, 400, object{"error": object{"message": "Invalid or unsupported audio file.", "type": "BadRequestError", "param": nil, "code": 400}})
	}
}

// transcript answers in the words of the dialect. The text comes in two segments where the dialect has them.
func (s *Server) transcript(w http.ResponseWriter, text, format string) {
	first, rest, _ := strings.Cut(text, " bytes ")
	segments := []object{
		{"id": 0, "start": 0.0, "end": 0.5, "text": " " + first + " bytes"},
		{"id": 1, "start": 0.5, "end": 1.0, "text": " " + rest},
	}
	switch s.dialect {
	case WhisperCPP, WhisperCPPConvert, WhisperCPPOld:
		text = " " + first + " bytes\n " + rest + "\n"
		if format == "verbose_json" {
			answer(w, 200, object{"task": "transcribe", "language": "english", "duration": 1.0, "text": text, "segments": segments})
			return
		}
	case FunASRCLI:
		answer(w, 200, text) // a JSON string
		return
	case FunASRRecognition:
		answer(w, 200, object{"text": text, "code": 0, "sentences": []object{
			{"text": first + " bytes", "start": 0, "end": 500}, {"text": rest, "start": 500, "end": 1000},
		}})
		return
	case VLLM:
		answer(w, 200, object{"text": text, "usage": object{"type": "duration", "seconds": 1}})
		return
	}
	if format == "verbose_json" {
		duration := any(1.0)
		if s.dialect == FunASR {
			duration = 0.042 // its own working time
		}
		answer(w, 200, object{"task": "transcribe", "language": "en", "duration": duration, "text": text, "segments": segments})
		return
	}
	answer(w, 200, object{"text": text})
}

// serveRuntime is FunASR's C++ server: every path, HTTP 200, and all parts of the form run together are the audio.
func (s *Server) serveRuntime(w http.ResponseWriter, r *http.Request) {
	fault, _, _ := s.state()
	if r.Method == http.MethodGet {
		answer(w, 200, object{"text": "", "mode": "offline", "wav_name": "demo"})
		return
	}
	mr, err := r.MultipartReader()
	if err != nil {
		answer(w, 200, object{"text": "", "mode": "offline", "wav_name": "demo"})
		return
	}
	req := Request{Path: r.URL.Path, ContentLength: r.ContentLength, Authorization: r.Header.Get("Authorization"), Fields: map[string]string{}}
	heard := newListener()
	for {
		part, err := mr.NextPart()
		if err != nil {
			break
		}
		req.Names = append(req.Names, part.FormName())
		n, err := io.Copy(heard, part)
		if err != nil {
			return
		}
		if part.FileName() != "" {
			req.FileName, req.FileType, req.Size = part.FileName(), part.Header.Get("Content-Type"), n
		}
	}
	if req.FileName != "" {
		s.received(req)
		if s.commonFault(w, r, fault) {
			return
		}
		switch fault {
		case Failure:
			answer(w, 500, object{"error": "engine"})
			return
		case ErrorIn200:
			answer(w, 200, object{"error": "engine", "code": 3})
			return
		case NoText:
			answer(w, 200, object{"mode": "offline"})
			return
		}
	}
	text := heard.text()
	if heard.damaged() || req.FileName == "" {
		text = "" // it hears nothing in what it cannot decode
	}
	answer(w, 200, object{"text": text, "mode": "offline", "wav_name": "demo"})
}
