//go:build !unix

package effort

import "time"

var start = time.Now()

// spent returns the time since the process started.
func spent() time.Duration { return time.Since(start) }
