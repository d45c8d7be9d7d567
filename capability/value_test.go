package capability

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNumbersAreEqualByTheirValue(t *testing.T) {
	t.Parallel()
	root := ParseValue([]byte(`[1, 1.0, 10e-1, 9007199254740993, 9007199254740992, 1e400, 1e401, 0, -0, 1e300, 10e299,
		0x10, +16, 1.60e1, 0.001, 1e-3, -1, 0e9, Infinity, NaN, 1e99999999999999999999]`),
		Options{Format: JSON5}).Root()
	class := []int{1, 1, 1, 2, 3, 4, 5, 6, 6, 7, 7, 8, 8, 8, 9, 9, 10, 6, 11, 12, 13}
	require.Equal(t, len(class), root.Len())
	for i := range class {
		for k := range class {
			require.Equal(t, class[i] == class[k], root.Item(i).Equal(root.Item(k)), "items %d and %d", i, k)
		}
	}
}
