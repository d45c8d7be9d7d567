// Package feedbackclient is a client of the HTTP API of the teaching-feedback service. It covers
// what a recording app needs.
package feedbackclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Client calls one server as one teacher. It is safe for concurrent use.
type Client struct {
	// Base is the URL of the server, as in http://host:port.
	Base string

	// Header is sent with each request. It contains the bearer token or the development user.
	Header http.Header

	// HTTP sends the requests. Defaults to http.DefaultClient.
	HTTP *http.Client
}

// Development returns a client that uses the development sign-in.
func Development(base, user string) Client {
	return Client{Base: base, Header: http.Header{"X-Development-User": {user}}}
}

// Problem is an error answer of the service.
type Problem struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// Error implements error.
func (p *Problem) Error() string { return fmt.Sprintf("%d %s: %s", p.Status, p.Code, p.Detail) }

// The answers of the service. They contain only some of their fields.
type (
	// Teacher is the signed-in teacher.
	Teacher struct {
		ID string `json:"teacher_id"`
	}
	// Profile is a student.
	Profile struct {
		ID   string `json:"profile_id"`
		Name string `json:"name"`
	}
	// Session is a voice session.
	Session struct {
		ID      string   `json:"session_id"`
		State   string   `json:"state"`
		Lessons []Lesson `json:"lessons"`
	}
	// Lesson is one lesson of a session.
	Lesson struct {
		ID         string    `json:"lesson_id"`
		Number     int       `json:"number"`
		State      string    `json:"state"`
		Transcript string    `json:"transcript"`
		Segments   []Segment `json:"segments"`
		Summary    struct {
			Total       int `json:"total"`
			Transcribed int `json:"transcribed"`
		} `json:"summary"`
	}
	// Segment is one recording of a lesson.
	Segment struct {
		ID       string `json:"segment_id"`
		Sequence int    `json:"sequence"`
		State    string `json:"state"`
		Text     string `json:"text"`
		Error    string `json:"error"`
		Attempts int    `json:"attempts"`
		SHA256   string `json:"sha256"`
	}
	// Generated is a generated feedback text.
	Generated struct {
		Text    string `json:"text"`
		Source  string `json:"source"`
		Warning string `json:"warning"`
	}
	// Record is a saved feedback record.
	Record struct {
		ID      string `json:"record_id"`
		Date    string `json:"feedback_date"`
		Content string `json:"content"`
	}
	// Health is the state of the server.
	Health struct {
		Status   string `json:"status"`
		Database struct {
			Configured bool `json:"configured"`
			Reachable  bool `json:"reachable"`
			Migrated   bool `json:"migrated"`
		} `json:"database"`
		Speech struct {
			Provider  string `json:"provider"`
			Available bool   `json:"available"`
			Detail    string `json:"detail"`
		} `json:"speech"`
		SpeechAvailable bool `json:"speech_available"`
	}
)

// Me returns the signed-in teacher.
func (c Client) Me(ctx context.Context) (t Teacher, err error) {
	return t, c.Call(ctx, http.MethodGet, "/api/v1/auth/me", nil, &t)
}

// Health returns the server's state.
func (c Client) Health(ctx context.Context) (h Health, err error) {
	return h, c.Call(ctx, http.MethodGet, "/health", nil, &h)
}

// EnsureProfile returns the teacher's profile with this name and creates it if there is none.
func (c Client) EnsureProfile(ctx context.Context, name string) (p Profile, err error) {
	var list struct {
		Items []Profile `json:"items"`
	}
	if err := c.Call(ctx, http.MethodGet, "/api/v1/profiles?query="+url.QueryEscape(name), nil, &list); err != nil {
		return p, err
	}
	for _, p := range list.Items {
		if strings.EqualFold(p.Name, name) {
			return p, nil
		}
	}
	return p, c.Call(ctx, http.MethodPost, "/api/v1/profiles", map[string]string{"name": name}, &p)
}

// OpenSession opens or resumes the profile's voice session.
func (c Client) OpenSession(ctx context.Context, profileID string) (s Session, err error) {
	return s, c.Call(ctx, http.MethodPost, "/api/v1/feedback-sessions", map[string]string{"profile_id": profileID}, &s)
}

// Session returns a session with its lessons.
func (c Client) Session(ctx context.Context, id string) (s Session, err error) {
	return s, c.Call(ctx, http.MethodGet, "/api/v1/feedback-sessions/"+id, nil, &s)
}

// StartLesson starts the session's next lesson.
func (c Client) StartLesson(ctx context.Context, sessionID string) (l Lesson, err error) {
	return l, c.Call(ctx, http.MethodPost, "/api/v1/feedback-sessions/"+sessionID+"/lessons", nil, &l)
}

// FinishLesson finishes a lesson.
func (c Client) FinishLesson(ctx context.Context, id string) (l Lesson, err error) {
	return l, c.Call(ctx, http.MethodPost, "/api/v1/feedback-lessons/"+id+"/finish", nil, &l)
}

// Upload uploads one segment in a multipart form, as the mini program's recorder does.
func (c Client) Upload(
	ctx context.Context, lessonID string, sequence int, name string, audio []byte,
) (s Segment, err error) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	if err := w.WriteField("sequence", strconv.Itoa(sequence)); err != nil {
		return s, err
	}
	part, err := w.CreateFormFile("file", name)
	if err != nil {
		return s, err
	}
	if _, err := part.Write(audio); err != nil {
		return s, err
	}
	if err := w.Close(); err != nil {
		return s, err
	}
	path := "/api/v1/feedback-lessons/" + lessonID + "/segments"
	return s, c.send(ctx, http.MethodPost, path, w.FormDataContentType(), &form, &s)
}

// Generate generates a feedback text from the transcripts of lessons.
func (c Client) Generate(ctx context.Context, sessionID string, lessonIDs []string) (g Generated, err error) {
	path := "/api/v1/feedback-sessions/" + sessionID + "/generate"
	return g, c.Call(ctx, http.MethodPost, path, map[string]any{"lesson_ids": lessonIDs}, &g)
}

// SaveRecord creates a feedback record, which completes its session.
func (c Client) SaveRecord(
	ctx context.Context, profileID, sessionID, date, content string,
) (r Record, err error) {
	return r, c.Call(ctx, http.MethodPost, "/api/v1/feedback-records", map[string]string{
		"profile_id": profileID, "feedback_session_id": sessionID, "feedback_date": date, "content": content,
	}, &r)
}

// Call sends a request with body as JSON and decodes the answer into out; either may be nil. An
// error answer is returned as a *Problem.
func (c Client) Call(ctx context.Context, method, path string, body, out any) error {
	if body == nil {
		return c.send(ctx, method, path, "", http.NoBody, out)
	}
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.send(ctx, method, path, "application/json", bytes.NewReader(b), out)
}

func (c Client) send(ctx context.Context, method, path, contentType string, body io.Reader, out any) error {
	header := http.Header{}
	if contentType != "" {
		header.Set("Content-Type", contentType)
	}
	resp, err := c.do(ctx, method, path, header, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(out)
}

// do sends a request with headers in addition to the client's. It returns an error answer as a
// *Problem.
func (c Client) do(
	ctx context.Context, method, path string, header http.Header, body io.Reader,
) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, body)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, c.Header)
	maps.Copy(req.Header, header)
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 400 {
		return resp, nil
	}
	defer resp.Body.Close()
	p := Problem{Status: resp.StatusCode}
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil {
		p.Detail = "the answer is not a problem document"
	}
	return nil, fmt.Errorf("%s %s: %w", method, path, &p)
}
