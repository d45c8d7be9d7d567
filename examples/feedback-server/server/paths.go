package server

import (
	"html/template"
	"net/http"
	"strings"
)

// below serves what clients address below a path, whether a proxy passes the path on or removes it.
func below(path string, next http.Handler) http.Handler {
	if path == "" {
		return next
	}
	stripped := http.StripPrefix(path, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == path:
			w.Header().Set("Location", path+"/") // links are relative to it
			w.WriteHeader(http.StatusPermanentRedirect)
		case strings.HasPrefix(r.URL.Path, path+"/"):
			stripped.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// addPrefix undoes [http.StripPrefix] for a handler that has its own prefix.
func addPrefix(prefix string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		r.URL.Path = prefix + r.URL.Path
		if r.URL.RawPath != "" {
			r.URL.RawPath = prefix + r.URL.RawPath
		}
		next.ServeHTTP(w, r)
	})
}

// redirect leads to a location relative to the path of the request, which [http.Redirect] would
// make absolute: a proxy may have changed the path.
func redirect(location string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(http.StatusPermanentRedirect)
	}
}

// startPage serves links to what a browser can show. They are relative, for any path of a proxy.
func startPage() http.Handler {
	page := template.Must(template.New("").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.}}</title>
<link rel="icon" href="data:,">
</head>
<body>
<main>
<h1>{{.}}</h1>
<ul>
<li><a href="scalar">Reference of the HTTP interface</a></li>
<li><a href="openapi.json">OpenAPI document</a></li>
<li><a href="health">State of the service</a></li>
</ul>
</main>
</body>
</html>
`))
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "+
			"frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		_ = page.Execute(w, title) // only the connection can fail
	})
}
