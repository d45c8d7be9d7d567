//go:build !unix

package recording

import "errors"

// errQuota matches no error.
var errQuota = errors.New("quota exceeded")
