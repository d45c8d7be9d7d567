package local

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// field is a text field of the form.
type field struct{ name, value string }

// target is what the configuration says about the server.
type target struct {
	base     *url.URL // without user, query and trailing slash
	fixed    *endpoint
	model    string
	language string
	extra    []field
	user     *url.Userinfo
	key      string
}

// endpoint is where recordings are sent, and in which form.
type endpoint struct {
	url       string
	fileField string
	bare      bool // nothing but the file may be sent
	openAI    bool // takes a model
}

func parseTarget(cfg Config) (target, error) {
	var t target
	if strings.TrimSpace(cfg.URL) == "" {
		return t, errors.New("local recogniser: the URL is empty; give the address of the server, such as http://127.0.0.1:8080")
	}
	u, err := url.Parse(strings.TrimSpace(cfg.URL))
	if err != nil {
		// The error of url.Parse repeats the URL, which may hold a key.
		return t, errors.New("local recogniser: the URL cannot be parsed; it should look like http://127.0.0.1:8080")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return t, fmt.Errorf("local recogniser: the URL's scheme is %q; it must be http or https, as in http://127.0.0.1:8080", u.Scheme)
	}
	if u.Host == "" {
		return t, errors.New("local recogniser: the URL names no host; it should look like http://127.0.0.1:8080")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return t, fmt.Errorf("local recogniser: the URL's query: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		switch name {
		case "response_format":
			return t, errors.New("local recogniser: the URL's query sets response_format, which this client chooses itself; leave it out")
		case "file", "audio", "stream":
			return t, fmt.Errorf("local recogniser: the URL's query sets %s, which this client chooses itself; leave it out", name)
		case "model":
			t.model = query.Get(name)
		case "language":
			t.language = query.Get(name)
		default:
			for _, v := range query[name] {
				t.extra = append(t.extra, field{name, v})
			}
		}
	}
	if cfg.Model != "" {
		t.model = cfg.Model
	}
	t.user, t.key = u.User, cfg.APIKey
	if password, ok := u.User.Password(); ok && u.User.Username() == "" {
		t.user = nil
		if t.key == "" {
			t.key = password
		}
	}
	if strings.ContainsAny(t.key, "\r\n") {
		return t, errors.New("local recogniser: the API key contains a line break")
	}
	clean := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/")}
	t.base = clean
	for _, known := range []struct {
		suffix string
		ep     endpoint
	}{
		{"/audio/transcriptions", endpoint{fileField: "file", openAI: true}},
		{"/transcriptions", endpoint{fileField: "file", openAI: true}},
		{"/inference", endpoint{fileField: "file"}},
		{"/recognition", endpoint{fileField: "audio", bare: true}},
	} {
		if base, ok := strings.CutSuffix(clean.Path, known.suffix); ok {
			known.ep.url = clean.String()
			t.fixed = &known.ep
			t.base = &url.URL{Scheme: u.Scheme, Host: u.Host, Path: base}
			break
		}
	}
	return t, nil
}

// candidates are the endpoints to look for, in order.
func (t target) candidates() []endpoint {
	transcriptions := t.base.JoinPath("v1/audio/transcriptions")
	if strings.HasSuffix(t.base.Path, "/v1") {
		transcriptions = t.base.JoinPath("audio/transcriptions")
	}
	return []endpoint{
		{url: transcriptions.String(), fileField: "file", openAI: true},
		{url: t.base.JoinPath("inference").String(), fileField: "file"},
		{url: t.base.JoinPath("recognition").String(), fileField: "audio", bare: true},
	}
}

// api returns the address of a path below /v1.
func (t target) api(path string) string {
	if strings.HasSuffix(t.base.Path, "/v1") {
		return t.base.JoinPath(path).String()
	}
	return t.base.JoinPath("v1", path).String()
}

// health are the addresses of a health endpoint: beside the API, and above /v1 when the base ends in it.
func (t target) health(path string) []string {
	urls := []string{t.base.JoinPath(path).String()}
	if above, ok := strings.CutSuffix(t.base.Path, "/v1"); ok {
		u := *t.base
		u.Path = above
		urls = append(urls, u.JoinPath(path).String())
	}
	return urls
}

func (t target) authorize(req *http.Request) {
	switch {
	case t.key != "":
		req.Header.Set("Authorization", "Bearer "+t.key)
	case t.user != nil:
		password, _ := t.user.Password()
		req.SetBasicAuth(t.user.Username(), password)
	}
}
