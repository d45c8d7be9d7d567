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

// Dialect is a kind of server.
type Dialect string

// The dialects of NewServer.
const (
	WhisperCPP        Dialect = "whisper.cpp"           // /inference; decodes only wav, mp3, flac and ogg
	WhisperCPPConvert Dialect = "whisper.cpp --convert" // decodes with ffmpeg, 500 for damaged audio
	WhisperCPPOld     Dialect = "whisper.cpp of 2024"   // 200 with an error in it, no /health
	OpenAI            Dialect = "openai"                // OpenAI's documentation
	Speaches          Dialect = "speaches"              // FastAPI; the model must be installed
	VLLM              Dialect = "vllm"                  // rejects verbose_json for some models
	LocalAI           Dialect = "localai"               // /readyz, 500 for damaged audio
	FunASR            Dialect = "funasr openai_api"     // own model names
	FunASRCLI         Dialect = "funasr cli"            // text as a JSON string
	FunASRLlama       Dialect = "funasr llama.cpp"      // requires Content-Length
	FunASRRecognition Dialect = "funasr python http"    // /recognition, field audio
	FunASRRuntime     Dialect = "funasr c++ http"       // every path, all parts are audio
)

// Dialects returns all dialects. asr/local supports each of them.
func Dialects() []Dialect {
	return []Dialect{
		WhisperCPP, WhisperCPPConvert, WhisperCPPOld, OpenAI, Speaches, VLLM, LocalAI,
		FunASR, FunASRCLI, FunASRLlama, FunASRRecognition, FunASRRuntime,
	}
}

// dialect describes the transcription endpoint of a dialect.
type dialect struct {
	path      string
	fileField string
	needModel bool // has /v1/models, and rejects other models
}

func (d Dialect) rules() dialect {
	switch d {
	case WhisperCPP, WhisperCPPConvert, WhisperCPPOld:
		return dialect{"/inference", "file", false}
	case FunASRRecognition:
		return dialect{"/recognition", "audio", false}
	case FunASRLlama, FunASRRuntime:
		return dialect{"/v1/audio/transcriptions", "file", false}
	}
	return dialect{"/v1/audio/transcriptions", "file", true}
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
	s.mu.Lock()
	fault, key, models := s.fault, s.key, s.models
	s.mu.Unlock()
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
	case r.URL.Path == "/v1/models" && rules.needModel && r.Method == http.MethodGet:
		s.list(w, fault, models)
	case r.Method == http.MethodGet:
		s.health(w, r, fault, models)
	default:
		s.missing(w, r)
	}
}

// missing answers like the server does for an unknown path.
func (s *Server) missing(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	switch s.dialect {
	case WhisperCPP, WhisperCPPConvert, WhisperCPPOld:
		http.Error(w, "File Not Found ("+r.URL.Path+")", http.StatusNotFound)
	case Speaches, VLLM, FunASR, FunASRCLI, FunASRRecognition:
		answer(w, http.StatusNotFound, object{"detail": "Not Found"})
	case LocalAI:
		answer(w, http.StatusNotFound, object{"error": object{"code": 404, "message": "Resource not found"}})
	default:
		http.NotFound(w, r)
	}
}

// health answers a GET request. The health endpoints differ.
func (s *Server) health(w http.ResponseWriter, r *http.Request, fault Fault, models []string) {
	if fault == Hang {
		s.ServeFault(w, r)
	}
	loading := fault == Loading
	switch path := r.URL.Path; {
	case path == "/health" && (s.dialect == WhisperCPP || s.dialect == WhisperCPPConvert):
		if loading {
			s.missing(w, r) // meant as 503, but rewritten by the error handler of the server
			return
		}
		answer(w, 200, object{"status": "ok"})
	case path == "/health" && s.dialect == Speaches:
		answer(w, 200, object{"message": "OK"})
	case path == "/health" && s.dialect == VLLM, path == "/readyz" && s.dialect == LocalAI:
		if loading {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	case path == "/health" && (s.dialect == FunASR || s.dialect == FunASRCLI):
		if loading {
			models = []string{}
		}
		answer(w, 200, object{"status": "ok", "models_loaded": models})
	case path == "/health" && s.dialect == FunASRLlama:
		answer(w, 200, object{"status": "ok"})
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
	if s.dialect == Speaches && len(models) > 0 {
		data = append([]object{{"id": "kokoro", "object": "model", "task": "text-to-speech"}}, data...)
	}
	answer(w, 200, object{"object": "list", "data": data})
}

func (s *Server) transcribe(w http.ResponseWriter, r *http.Request, rules dialect, fault Fault, models []string) {
	if s.dialect == FunASRLlama && r.ContentLength < 0 {
		answer(w, 400, object{"error": object{"message": "expected multipart/form-data"}})
		return
	}
	req, audio, err := readForm(r, rules.fileField)
	if err != nil {
		answer(w, 400, object{"error": object{"message": "expected multipart/form-data"}})
		return
	}
	model := req.Fields["model"]
	if s.dialect == Speaches && model != "" && !slices.Contains(models, model) {
		s.wrongModel(w, model, models)
		return
	}
	if audio == nil {
		s.noFile(w)
		return
	}
	s.Received(req)
	if s.ServeFault(w, r) {
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
		s.wrongModel(w, model, nil)
		return
	case NoText:
		answer(w, 200, object{"result": 1})
		return
	}
	if rules.needModel && !slices.Contains(models, model) {
		s.wrongModel(w, model, models)
		return
	}
	if s.dialect == VLLM && req.Fields["response_format"] == "verbose_json" {
		answer(w, 400, object{"error": object{"message": "Currently do not support verbose_json for tiny"}})
		return
	}
	format := audiofile.Sniff(audio)
	if s.dialect == WhisperCPP && (format == audiofile.AAC || format == audiofile.M4A) {
		http.Error(w, "Invalid request", http.StatusBadRequest) // without --convert
		return
	}
	if isDamaged(audio) || format == "" {
		s.undecodable(w)
		return
	}
	s.transcript(w, Heard(audio), req.Fields["response_format"])
}

func (s *Server) wrongModel(w http.ResponseWriter, name string, models []string) {
	switch s.dialect {
	case Speaches:
		answer(w, 404, object{"detail": fmt.Sprintf("Model '%s' is not installed locally.", name)})
	case FunASR, FunASRCLI:
		answer(w, 400, object{"detail": fmt.Sprintf("Model '%s' not found. Available: %q", name, models)})
	default:
		answer(w, 404, object{"error": object{"message": fmt.Sprintf("The model `%s` does not exist.", name)}})
	}
}

func (s *Server) noFile(w http.ResponseWriter) {
	switch s.dialect {
	case WhisperCPP, WhisperCPPConvert:
		http.Error(w, "Invalid request", http.StatusBadRequest)
	case WhisperCPPOld:
		answer(w, 200, object{"error": "no 'file' field in the request"})
	case Speaches, VLLM, FunASR, FunASRCLI, FunASRRecognition:
		answer(w, 422, object{"detail": []object{{"loc": []any{"body", "file"}, "msg": "Field required"}}})
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
		answer(w, 500, object{"error": object{"code": 500, "message": "rpc error: ffmpeg exited with status 1"}})
	case FunASRRecognition:
		answer(w, 200, object{"msg": "decode failed", "code": 1})
	default:
		answer(w, 400, object{"error": object{"message": "Invalid or unsupported audio file.", "code": 400}})
	}
}

// transcript answers with a transcript, in two segments where the dialect has them.
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
			answer(w, 200, object{"language": "english", "duration": 1.0, "text": text, "segments": segments})
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
			duration = 0.042 // its processing time
		}
		answer(w, 200, object{"language": "en", "duration": duration, "text": text, "segments": segments})
		return
	}
	answer(w, 200, object{"text": text})
}

// readForm reads a multipart form with a recording in the named field. The recording is nil if the
// form has none.
func readForm(r *http.Request, fileField string) (req Request, audio []byte, err error) {
	req = Request{
		Path: r.URL.Path, Authorization: r.Header.Get("Authorization"), ContentLength: r.ContentLength,
		Fields: map[string]string{},
	}
	reader, err := r.MultipartReader()
	if err != nil {
		return req, nil, err
	}
	for {
		part, err := reader.NextPart()
		if err == io.EOF {
			_, _ = io.Copy(io.Discard, r.Body)
			return req, audio, nil
		}
		if err != nil {
			return req, nil, err
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return req, nil, err
		}
		name := part.FormName()
		req.Names = append(req.Names, name)
		if name != fileField {
			req.Fields[name] = string(value)
			continue
		}
		req.FileName, req.FileType = part.FileName(), part.Header.Get("Content-Type")
		audio, req.Size = value, int64(len(value))
	}
}

// serveRuntime answers like FunASR's C++ server: any path, status 200, and the audio is the
// concatenation of all parts of the form.
func (s *Server) serveRuntime(w http.ResponseWriter, r *http.Request) {
	reply := object{"text": "", "mode": "offline", "wav_name": "demo"}
	req, audio, err := readForm(r, "file")
	if err == nil && audio != nil {
		s.Received(req)
		if s.ServeFault(w, r) {
			return
		}
		switch s.Fault() {
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
		if len(req.Names) == 1 && !isDamaged(audio) { // it recognises nothing in what it cannot decode
			reply["text"] = Heard(audio)
		}
	}
	answer(w, 200, reply)
}
