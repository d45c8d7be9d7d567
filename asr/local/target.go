package local

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// target is the parsed configuration of the server.
type target struct {
	base     *url.URL // without user, query and trailing slash
	fixed    *endpoint
	model    string
	language string
	prompt   string
	extra    []field
	user     *url.Userinfo
	key      string
}

// endpoint is where recordings are sent, and in which form.
type endpoint struct {
	url       string
	fileField string
	fileOnly  bool // other fields must not be sent
	openAI    bool // takes a model
}

func parseTarget(cfg Config) (target, error) {
	var t target
	if strings.TrimSpace(cfg.URL) == "" {
		return t, errors.New("local recogniser: the URL is empty; it should look like http://127.0.0.1:8080")
	}
	u, err := url.Parse(strings.TrimSpace(cfg.URL))
	if err != nil {
		// The error of url.Parse repeats the URL, which may hold a key.
		return t, errors.New("local recogniser: the URL cannot be parsed; it should look like http://127.0.0.1:8080")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return t, fmt.Errorf("local recogniser: the URL's scheme is %q; it must be http or https, "+
			"as in http://127.0.0.1:8080", u.Scheme)
	}
	if u.Host == "" {
		return t, errors.New("local recogniser: the URL has no host; it should look like http://127.0.0.1:8080")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return t, fmt.Errorf("local recogniser: the URL's query: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		switch name {
		case "response_format", "file", "audio", "stream":
			return t, fmt.Errorf("local recogniser: the URL's query must not set %s, which the client sets", name)
		case "model":
			t.model = query.Get(name)
		case "language":
			t.language = query.Get(name)
		case "prompt":
			t.prompt = query.Get(name)
		default:
			for _, v := range query[name] {
				t.extra = append(t.extra, field{name, v})
			}
		}
	}
	t.model = cmp.Or(cfg.Model, t.model)
	t.user, t.key = u.User, cfg.APIKey
	if password, ok := u.User.Password(); ok && u.User.Username() == "" {
		t.user, t.key = nil, cmp.Or(t.key, password)
	}
	if strings.ContainsAny(t.key, "\r\n") {
		return t, errors.New("local recogniser: the API key contains a line break")
	}
	t.base = &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/")}
	for _, known := range []struct {
		suffix string
		ep     endpoint
	}{
		{"/audio/transcriptions", endpoint{fileField: "file", openAI: true}},
		{"/transcriptions", endpoint{fileField: "file", openAI: true}},
		{"/inference", endpoint{fileField: "file"}},
		{"/recognition", endpoint{fileField: "audio", fileOnly: true}},
	} {
		if path, ok := strings.CutSuffix(t.base.Path, known.suffix); ok {
			known.ep.url = t.base.String()
			t.fixed = &known.ep
			t.base.Path = path
			break
		}
	}
	return t, nil
}

// candidates returns the endpoints to probe, in order.
func (t target) candidates() []endpoint {
	return []endpoint{
		{url: t.api("audio/transcriptions"), fileField: "file", openAI: true},
		{url: t.base.JoinPath("inference").String(), fileField: "file"},
		{url: t.base.JoinPath("recognition").String(), fileField: "audio", fileOnly: true},
	}
}

// api returns the address of a path below /v1.
func (t target) api(path string) string {
	if strings.HasSuffix(t.base.Path, "/v1") {
		return t.base.JoinPath(path).String()
	}
	return t.base.JoinPath("v1", path).String()
}

// healthURLs returns the possible health endpoints, in order: beside the API, and above /v1 when
// the base ends in it.
func (t target) healthURLs() []string {
	above := *t.base
	above.Path = strings.TrimSuffix(above.Path, "/v1")
	var urls []string
	for _, path := range []string{"health", "readyz"} {
		urls = append(urls, t.base.JoinPath(path).String())
		if above.Path != t.base.Path {
			urls = append(urls, above.JoinPath(path).String())
		}
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
