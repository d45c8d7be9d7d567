package sound

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAlike(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{{"雨彤", "雨桐"}, {"曾", "增"}, {"子涵", "梓涵"}, {"吕", "绿"}, {"Shawn", "Sean"},
		{"sersha", "Saoirse"}, {"mick lean", "MacLean"}, {"Jon", "John"}, {"Zoey", "Zoë"}, {"Imma", "Emma"},
		{"a", "A"}} {
		require.True(t, Alike(pair[0], pair[1]), pair)
		require.True(t, Alike(pair[1], pair[0]), pair)
	}
	for _, pair := range [][2]string{{"雨彤", "雨"}, {"雨彤", "晓彤"}, {"Becca", "Bach"}, {"she", "he"}, {"lake", "pond"},
		{"", "A"}, {"", ""}, {"1", "2"}, {"雨", "yu"}, {"李", "Lee"}, {"Anna", "Ben"}, {"好", "ㄏㄠ"}} {
		require.False(t, Alike(pair[0], pair[1]), pair)
	}
}
