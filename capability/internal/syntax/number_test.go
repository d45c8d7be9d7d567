package syntax

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNumbersAreWrittenAsJSON(t *testing.T) {
	t.Parallel()
	for literal, want := range map[string]string{
		"0x10": "16", "+5": "5", ".5": "0.5", "5.": "5", "-.5e3": "-500", "1_000": "1000", "0o17": "15", "0b11": "3",
		"+1e30": "1e+30", "+1e400": "null", "+1e-400": "0", "Infinity": "null", "nan": "null", "1e400": "1e400",
	} {
		require.Equal(t, want, string(AppendNumber(nil, literal, false)), literal)
	}
}
