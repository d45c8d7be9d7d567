package authhttp_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/auth/authhttp"
	"lessonkit.example/auth/authtest"
)

const (
	devicePath = "/api/v1/auth/device"
	firefox    = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0"
)

func withDevices(c *authhttp.Config) { c.Cookie, c.Devices = &authhttp.Cookie{}, true }

// page starts a sign-in by a code and returns the answer.
func (b *bench) page(t *testing.T) (d authhttp.DeviceStarted) {
	t.Helper()
	w := send(b.handler, http.MethodPost, devicePath, "", "User-Agent", firefox)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &d))
	return d
}

// bearer signs a user in at the platform and returns the token.
func (b *bench) bearer(t *testing.T, openID string) string {
	t.Helper()
	login, err := b.service.Login(t.Context(), b.platform.Code(authtest.User{OpenID: openID}))
	require.NoError(t, err)
	return login.Token
}

func (b *bench) poll(d authhttp.DeviceStarted) *httptest.ResponseRecorder {
	return send(b.handler, http.MethodPost, devicePath+"/session", `{"device_code":"`+d.DeviceCode+`"}`)
}

func (b *bench) code(operation, code, token string) *httptest.ResponseRecorder {
	return send(b.handler, http.MethodPost, devicePath+operation, `{"code":"`+code+`"}`,
		"Authorization", "Bearer "+token)
}

// browser signs a page in as ann and returns the answer.
func (b *bench) browser(t *testing.T) *httptest.ResponseRecorder {
	t.Helper()
	d := b.page(t)
	require.Equal(t, http.StatusNoContent, b.code("/confirm", d.Code, b.bearer(t, "ann")).Code)
	return b.poll(d)
}

func TestAPageIsSignedInByItsCode(t *testing.T) {
	t.Parallel()
	b := setup(t, options{http: withDevices})
	token := b.bearer(t, "ann")
	d := b.page(t)
	svg, ok := strings.CutPrefix(d.QR, "data:image/svg+xml;base64,")
	require.True(t, ok)
	image, err := base64.StdEncoding.DecodeString(svg)
	require.NoError(t, err)
	require.Contains(t, string(image), "<svg ")
	w := b.poll(d)
	require.Equal(t, http.StatusAccepted, w.Code, w.Body)
	require.JSONEq(t, "null", w.Body.String())
	require.Empty(t, w.Header()["Set-Cookie"])

	w = b.code("/find", d.Code, token)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	var asking authhttp.DeviceAsking
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &asking))
	require.Equal(t, "Firefox, Windows", asking.Device)
	require.Equal(t, "192.0.2.1", asking.Address)
	require.True(t, asking.SameAddress)
	require.NotContains(t, w.Body.String(), d.DeviceCode, "the page alone has its secret")
	require.Equal(t, http.StatusNoContent, b.code("/confirm", d.Code, token).Code)
	require.Equal(t, http.StatusNotFound, b.code("/confirm", d.Code, token).Code)

	w = b.poll(d)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	cookie := w.Result().Cookies()[0]
	require.Contains(t, w.Header().Get("Set-Cookie"), "; HttpOnly; Secure; SameSite=Lax")
	require.NotContains(t, w.Body.String(), cookie.Value)
	require.Equal(t, http.StatusUnauthorized, b.poll(d).Code, "used once")
	sent := "__Host-session=" + cookie.Value
	require.Equal(t, http.StatusOK, send(b.handler, http.MethodGet, mePath, "", "Cookie", sent).Code)

	w = send(b.handler, http.MethodGet, "/api/v1/auth/sessions", "", "Authorization", "Bearer "+token)
	var list authhttp.SessionList
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &list))
	require.Len(t, list.Items, 2)
	var ofPage authhttp.SessionItem
	for _, item := range list.Items {
		require.Equal(t, item.Device == "", item.Current)
		if !item.Current {
			ofPage = item
		}
	}
	require.Equal(t, "Firefox, Windows", ofPage.Device)
	path := "/api/v1/auth/sessions/" + ofPage.ID
	foreign := send(b.handler, http.MethodDelete, path, "", "Authorization", "Bearer "+b.bearer(t, "ben"))
	require.Equal(t, http.StatusNotFound, foreign.Code)
	refused := send(b.handler, http.MethodDelete, path, "", "Cookie", sent, "Sec-Fetch-Site", "cross-site")
	require.Equal(t, http.StatusForbidden, refused.Code)
	ended := send(b.handler, http.MethodDelete, path, "", "Authorization", "Bearer "+token)
	require.Equal(t, http.StatusNoContent, ended.Code)
	require.Equal(t, http.StatusUnauthorized, send(b.handler, http.MethodGet, mePath, "", "Cookie", sent).Code)
	require.NotContains(t, b.log.String(), d.DeviceCode)
	require.NotContains(t, b.log.String(), d.Code)
}

func TestConfirmingNeedsASession(t *testing.T) {
	t.Parallel()
	b := setup(t, options{http: withDevices})
	d := b.page(t)
	for _, operation := range []string{"/find", "/confirm"} {
		require.Equal(t, http.StatusUnauthorized, b.code(operation, d.Code, "mps_no").Code)
	}
	require.Equal(t, http.StatusAccepted, b.poll(d).Code)
}

func TestGuessesAndFloodsOfCodesAreLimited(t *testing.T) {
	t.Parallel()
	b := setup(t, options{http: func(c *authhttp.Config) {
		withDevices(c)
		c.LoginsPerMinute, c.LoginBurst = 1, 3
	}})
	token := b.bearer(t, "ann")
	d := b.page(t)
	for range 3 {
		require.Equal(t, http.StatusAccepted, b.poll(d).Code, "asking is not guessing")
		require.Equal(t, http.StatusNotFound, b.code("/find", "BBBBBB", token).Code)
	}
	limited := b.code("/confirm", d.Code, token)
	require.Equal(t, http.StatusTooManyRequests, limited.Code, "also of the right code")
	require.NotEmpty(t, limited.Header().Get("Retry-After"))

	b.page(t)
	b.page(t)
	flood := send(b.handler, http.MethodPost, devicePath, "")
	require.Equal(t, http.StatusTooManyRequests, flood.Code)
}
