package capability

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A job that fails by one of these errors is not tried again.
func TestErrorsArePermanent(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func() error{
		"command":  func() error { _, err := ParseCommand("a b"); return err },
		"origin":   func() error { _, err := ParseOrigin("nonsense"); return err },
		"severity": func() error { return new(Severity).UnmarshalText([]byte("loud")) },
		"edits":    func() error { _, err := Apply("a", []Edit{{Start: 2, End: 3}}); return err },
		"file":     func() error { return Parse([]byte("{"), Options{}).Check().Err() },
	} {
		var permanent interface{ Permanent() bool }
		require.ErrorAs(t, fail(), &permanent, name)
		require.True(t, permanent.Permanent(), name)
	}
}
