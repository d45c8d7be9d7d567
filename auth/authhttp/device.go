package authhttp

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/boombuler/barcode/qr"
	"github.com/danielgtaylor/huma/v2"

	"lessonkit.example/auth"
)

// deviceStarted is the answer to the start of a sign-in by a code.
type deviceStarted struct {
	DeviceCode string    `json:"device_code" doc:"A secret of the page; it is never shown."`
	Code       string    `json:"code" example:"BCDFGH" doc:"To show. Six letters, valid once."`
	QR         string    `json:"qr" doc:"The text sign-in:CODE as a QR code: a data address of an SVG image."`
	ExpiresAt  time.Time `json:"expires_at" doc:"When both codes expire."`
	Interval   int       `json:"interval_seconds" doc:"How long to wait between two requests for the session."`
}

// deviceCodeBody has the secret of the page that a sign-in was started for.
type deviceCodeBody struct {
	DeviceCode string `json:"device_code" maxLength:"128" doc:"From the start of the sign-in."`
}

// codeBody has the code that a page shows.
type codeBody struct {
	Code string `json:"code" maxLength:"64" doc:"Six letters; case, spaces and hyphens do not matter."`
}

// deviceAsking is the device that shows a code.
type deviceAsking struct {
	Device      string    `json:"device" doc:"Browser and system, as the browser tells them."`
	Address     string    `json:"address" doc:"The network address of the device."`
	SameAddress bool      `json:"same_address" doc:"Whether it is that of this request, as in one building."`
	CreatedAt   time.Time `json:"created_at" doc:"When it asked."`
	ExpiresAt   time.Time `json:"expires_at" doc:"When its code expires."`
}

// sessionList is all sessions of a user.
type sessionList struct {
	Items []sessionItem `json:"items" nullable:"false"`
}

// sessionItem is a session in a list.
type sessionItem struct {
	ID        string    `json:"session_id" doc:"It does not sign in."`
	Device    string    `json:"device" doc:"Browser and system; empty for a sign-in with a login code."`
	Current   bool      `json:"current" doc:"Whether this request belongs to it."`
	CreatedAt time.Time `json:"created_at" doc:"When it began."`
	ExpiresAt time.Time `json:"expires_at" doc:"When it ends, used or not."`
}

// pollSeconds is how often a page asks whether it was confirmed.
const pollSeconds = 2

type startInput struct {
	UserAgent string `header:"User-Agent" hidden:"true"`
}

type deviceSessionOutput struct {
	Status       int
	CacheControl string        `header:"Cache-Control"`
	SetCookie    []http.Cookie `header:"Set-Cookie"`
	Body         *loginState
}

// registerDevices adds the sign-in by a code (RFC 8628) with the operation of registerSession.
func (o *operations) registerDevices(operation func(id, method, path, summary, about string) huma.Operation) {
	open := func(id, path, summary, about string) huma.Operation {
		op := operation(id, http.MethodPost, path, summary, about)
		op.Security = []map[string][]string{}
		op.Middlewares = huma.Middlewares{o.requireService}
		return op
	}
	start := open("start-device", "/device", "Start the sign-in of a page",
		"Returns a code to show, for two minutes, and a secret with which the page then asks for its session. "+
			"Whoever confirms the code signs the page in.")
	start.Errors = append(start.Errors, http.StatusTooManyRequests)
	start.Middlewares = append(start.Middlewares, o.limited(o.starts)) // used or not
	huma.Register(o.api, start, o.startDevice)
	session := o.withCode(open("device-login", "/device/session", "Sign in a page whose code was confirmed",
		"Sets the session cookie. Answers 202 with null while nobody has confirmed the code."))
	session.Responses = map[string]*huma.Response{"202": {Description: "Nobody has confirmed the code yet.",
		Content: map[string]*huma.MediaType{"application/json": {}}}}
	huma.Register(o.api, session, o.deviceLogin)

	guarded := func(id, path, summary, about string) huma.Operation {
		op := o.withCode(operation(id, http.MethodPost, path, summary, about))
		op.Errors = append(op.Errors, http.StatusNotFound)
		return op
	}
	huma.Register(o.api, guarded("find-device", "/device/find", "What a code would sign in",
		"For the user to compare with the device in front of them, before they confirm."), o.findDevice)
	confirm := guarded("confirm-device", "/device/confirm", "Sign in the device that shows a code",
		"The device gets a session of this user, which is listed with the others. A code is confirmed once.")
	confirm.DefaultStatus = http.StatusNoContent
	huma.Register(o.api, confirm, o.confirmDevice)

	huma.Register(o.api, operation("list-sessions", http.MethodGet, "/sessions", "Sessions of the user",
		"Newest first."), o.sessions)
	end := operation("end-session", http.MethodDelete, "/sessions/{session_id}", "Sign out one session",
		"Ends it at once, also the one of this request.")
	end.DefaultStatus = http.StatusNoContent
	end.Errors = append(end.Errors, http.StatusNotFound, http.StatusUnprocessableEntity)
	huma.Register(o.api, end, o.endSession)
}

func (o *operations) startDevice(ctx context.Context, in *startInput) (*answer[deviceStarted], error) {
	d, secret, err := o.Service.StartDevice(ctx, browser(in.UserAgent), clientOf(ctx))
	if err != nil {
		return nil, refusal(err)
	}
	return &answer[deviceStarted]{"no-store", deviceStarted{
		DeviceCode: secret, Code: d.Code, QR: qrImage("sign-in:" + d.Code), ExpiresAt: d.ExpiresAt,
		Interval: pollSeconds,
	}}, nil
}

func (o *operations) deviceLogin(ctx context.Context, in *input[deviceCodeBody]) (*deviceSessionOutput, error) {
	login, err := o.Service.DeviceLogin(ctx, in.Body.DeviceCode)
	countGuess(ctx, err)
	if errors.Is(err, auth.ErrDevicePending) {
		return &deviceSessionOutput{Status: http.StatusAccepted, CacheControl: "no-store"}, nil
	}
	if err != nil {
		return nil, refusal(err)
	}
	annotate(ctx, login.UserID)
	session := &loginSession{CreatedAt: login.CreatedAt, ExpiresAt: login.ExpiresAt}
	state := loginState{UserID: login.UserID, Method: auth.MethodSession, Session: session}
	return &deviceSessionOutput{
		Status: http.StatusOK, CacheControl: "no-store", SetCookie: []http.Cookie{*o.Cookie.Of(login)}, Body: &state,
	}, nil
}

func (o *operations) findDevice(ctx context.Context, in *input[codeBody]) (*answer[deviceAsking], error) {
	d, err := o.Service.Device(ctx, in.Body.Code)
	countGuess(ctx, err)
	if err != nil {
		return nil, codeRefusal(err)
	}
	return &answer[deviceAsking]{"no-store", deviceAsking{
		Device: d.Name, Address: d.Address, SameAddress: d.Address == clientOf(ctx),
		CreatedAt: d.CreatedAt, ExpiresAt: d.ExpiresAt,
	}}, nil
}

func (o *operations) confirmDevice(ctx context.Context, in *input[codeBody]) (*struct{}, error) {
	err := o.Service.ConfirmDevice(ctx, principal(ctx).UserID, in.Body.Code)
	countGuess(ctx, err)
	if err != nil {
		return nil, codeRefusal(err)
	}
	return nil, nil
}

// codeRefusal is refusal for a user who is signed in: a wrong code is no reason to sign in again.
func codeRefusal(err error) error {
	if errors.Is(err, auth.ErrDeviceCode) {
		return problem(http.StatusNotFound, "device_code_invalid",
			"The code is not valid, expired or was used before. Use the one that the page shows now.")
	}
	return refusal(err)
}

func (o *operations) sessions(ctx context.Context, _ *struct{}) (*answer[sessionList], error) {
	sessions, err := o.Service.Sessions(ctx, principal(ctx).UserID)
	if err != nil {
		return nil, refusal(err)
	}
	list := sessionList{Items: []sessionItem{}}
	for _, s := range sessions {
		list.Items = append(list.Items, sessionItem{
			ID: hex.EncodeToString(s.TokenHash[:]), Device: s.Device, Current: s.TokenHash == principal(ctx).Session,
			CreatedAt: s.CreatedAt, ExpiresAt: s.ExpiresAt,
		})
	}
	return &answer[sessionList]{"no-store", list}, nil
}

func (o *operations) endSession(ctx context.Context, in *struct {
	ID string `path:"session_id" pattern:"^[0-9a-f]{64}$"`
}) (*struct{}, error) {
	var hash auth.TokenHash
	_, _ = hex.Decode(hash[:], []byte(in.ID)) // it has the form of the pattern
	if err := o.Service.EndSession(ctx, principal(ctx).UserID, hash); err != nil {
		return nil, refusal(err)
	}
	return nil, nil
}

// browser names the browser and the system of a User-Agent header.
func browser(agent string) string {
	find := func(names ...string) string {
		for i := 0; i < len(names); i += 2 {
			if strings.Contains(agent, names[i]) {
				return names[i+1]
			}
		}
		return "?"
	}
	// Each names those before it too, so the first that is found is it.
	return find("MicroMessenger/", "WeChat", "Edg", "Edge", "OPR/", "Opera", "Firefox/", "Firefox",
		"FxiOS/", "Firefox",
		"Chrome/", "Chrome", "CriOS/", "Chrome", "Safari/", "Safari") + ", " +
		find("Windows", "Windows", "Android", "Android", "iPhone", "iPhone", "iPad", "iPad",
			"Mac OS X", "macOS", "CrOS", "ChromeOS", "Linux", "Linux")
}

// qrImage returns a QR code as the data address of an SVG image, with the margin of four modules
// that readers need.
func qrImage(text string) string {
	const margin = 4
	code, _ := qr.Encode(text, qr.M, qr.Auto) // it fails for long texts only
	size := code.Bounds().Dx()
	var dark strings.Builder
	for y := range size {
		for x := range size {
			if r, _, _, _ := code.At(x, y).RGBA(); r == 0 {
				fmt.Fprintf(&dark, "M%d %dh1v1h-1z", x+margin, y+margin)
			}
		}
	}
	svg := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[1]d" `+
		`shape-rendering="crispEdges">`+
		`<path fill="#fff" d="M0 0h%[1]dv%[1]dH0z"/><path d="%[2]s"/></svg>`, size+2*margin, dark.String())
	return "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(svg))
}
