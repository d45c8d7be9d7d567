// Package retryafter reads the Retry-After header of answers.
package retryafter

import (
	"net/http"
	"strconv"
	"time"
)

// Parse returns how long an answer asks to wait, at most a day, by its Retry-After header: seconds
// or a date. It returns 0 without one.
func Parse(h http.Header) time.Duration {
	const longest = 24 * time.Hour
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 {
		return time.Duration(min(s, longest.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, min(time.Until(at), longest))
	}
	return 0
}
