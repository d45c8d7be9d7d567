package feedbackclient

import (
	"context"
	"io"
	"net/http"
	"time"
)

// Login is a new session of a teacher. [New] returns a client that uses its token.
type Login struct {
	Token     string    `json:"token"`
	TokenType string    `json:"token_type"` // Bearer
	ExpiresAt time.Time `json:"expires_at"`
	TeacherID string    `json:"teacher_id"`
}

// Teacher is the signed-in teacher.
type Teacher struct {
	ID      string        `json:"teacher_id"`
	Method  string        `json:"method"`  // session or development
	Session *LoginSession `json:"session"` // nil with the development sign-in
}

// LoginSession is the session of a token.
type LoginSession struct {
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Device is a page that shows a code to sign in with.
type Device struct {
	Name        string    `json:"device"`       // browser and system, as the browser tells them
	Address     string    `json:"address"`      // its network address
	SameAddress bool      `json:"same_address"` // whether the client has the same
	CreatedAt   time.Time `json:"created_at"`
	ExpiresAt   time.Time `json:"expires_at"`
}

// ListedSession is a session in the list of a teacher's sessions.
type ListedSession struct {
	ID        string    `json:"session_id"` // for [Client.EndSession]; it does not sign in
	Device    string    `json:"device"`     // empty for a sign-in by the platform
	Current   bool      `json:"current"`    // whether it is the client's own
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Login signs in with the one-time code of a mini program. It is sent once, whatever MaxRetries is:
// the code may be spent.
func (c Client) Login(ctx context.Context, code string) (l Login, err error) {
	c.MaxRetries = 0
	return l, c.Call(ctx, http.MethodPost, path("/auth/miniapp/login"), map[string]string{"code": code}, &l)
}

// Me returns the signed-in teacher.
func (c Client) Me(ctx context.Context) (t Teacher, err error) {
	return t, c.Call(ctx, http.MethodGet, path("/auth/me"), nil, &t)
}

// EraseMe deletes the teacher and everything of the teacher, for good.
func (c Client) EraseMe(ctx context.Context) error {
	return c.Call(ctx, http.MethodDelete, path("/auth/me"), nil, nil)
}

// LogoutAll ends every session of the teacher, the client's own too.
func (c Client) LogoutAll(ctx context.Context) error {
	return c.Call(ctx, http.MethodPost, path("/auth/logout-all"), nil, nil)
}

// Logout ends the session of the client's token.
func (c Client) Logout(ctx context.Context) error {
	return c.Call(ctx, http.MethodPost, path("/auth/logout"), nil, nil)
}

// Device returns the page that shows a code, to compare before [Client.ConfirmDevice].
func (c Client) Device(ctx context.Context, code string) (d Device, err error) {
	return d, c.post(ctx, path("/auth/device/find"), map[string]string{"code": code}, &d)
}

// ConfirmDevice signs the teacher in on the page that shows a code. It is sent once: a code is
// confirmed once.
func (c Client) ConfirmDevice(ctx context.Context, code string) error {
	c.MaxRetries = 0
	return c.Call(ctx, http.MethodPost, path("/auth/device/confirm"), map[string]string{"code": code}, nil)
}

// Sessions returns all sessions of the teacher, the newest first.
func (c Client) Sessions(ctx context.Context) ([]ListedSession, error) {
	var list struct {
		Items []ListedSession `json:"items"`
	}
	err := c.Call(ctx, http.MethodGet, path("/auth/sessions"), nil, &list)
	return list.Items, err
}

// EndSession ends a session of the teacher by its identifier.
func (c Client) EndSession(ctx context.Context, id string) error {
	return c.Call(ctx, http.MethodDelete, path("/auth/sessions/%s", id), nil, nil)
}

// Export downloads everything of the teacher as a ZIP file, which the caller closes. Reading it
// fails if the server cannot complete it.
func (c Client) Export(ctx context.Context) (io.ReadCloser, error) {
	return c.download(ctx, path("/export"))
}

func (c Client) download(ctx context.Context, path string) (io.ReadCloser, error) {
	resp, err := c.do(ctx, request{method: http.MethodGet, path: path, repeatable: true})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}
