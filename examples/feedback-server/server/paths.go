package server

import (
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
			redirect(path+"/")(w, r) // links are relative to it
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
