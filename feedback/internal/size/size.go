// Package size writes sizes for people.
package size

import (
	"fmt"
	"strings"
)

// Text returns n bytes in the greatest unit of which they are at least one, with at most one
// decimal: "128 MB", "1.5 GB". A kB is 1024 bytes.
func Text(n int64) string {
	units := []string{"bytes", "kB", "MB", "GB", "TB"}
	value, unit := float64(n), 0
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0") + " " + units[unit]
}
