package miniprogram_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatWasSaidTypedOrCorrectedReachesTheRecord(t *testing.T) {
	t.Parallel()
	texts := make(chan string, 9) // of the next recordings; "" is away
	recogniser := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.ParseMultipartForm(1<<20) != nil { // it asks whether this is there
			return
		}
		select {
		case text := <-texts:
			fmt.Fprintf(w, `{"text":%q,"segments":[{"text":%[1]q,"start":0,"end":1}]}`, text)
		case <-r.Context().Done():
		}
	})
	next := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if text, err := io.ReadAll(r.Body); err == nil && len(text) > 0 {
			texts <- string(text)
		}
	})
	var result struct {
		State, Offered, Appended, Copied, Day string
		Opened                                []int
		Waits, Length                         int
		Lost                                  []any
		Elsewhere, Conflict, Drafts, Told     []string
		Days                                  []string
		Toasts, Questions, Records            []string
	}
	inVM(t, "kept", &result, map[string]string{"LOCAL_ASR_URL": recogniser}, "RECOGNISER="+next)
	require.Equal(t, []int{2, 3}, result.Opened)
	require.Equal(t, result.Day, result.Days[0])
	require.Less(t, result.Days[1], result.Day)
	require.Equal(t, []string{"Evening.", "The text has changed. Please read it, then save."}, result.Elsewhere)
	const choose = "Choose first what happens with the other text."
	require.Equal(t, []string{choose, choose, "Theirs.", "Theirs.", ""}, result.Conflict)
	require.Equal(t, "Not in a record yet", result.State)
	require.Equal(t, "Amy painted a pond. She sang.", result.Offered)
	require.Equal(t, "Amy painted a pond. Well done!\n\n"+result.Offered, result.Appended)
	require.Contains(t, result.Copied, result.Appended)
	const away = "The server does not answer."
	require.Equal(t, []any{
		true, 1., result.Day, "Typed away, and on.", 2., "Recording has stopped.", choose, away, away, true, away,
		away, away,
	}, result.Lost)
	require.Empty(t, result.Drafts)
	require.Equal(t, len("Too much for the phone. ")<<16, result.Length, "what is typed on a full phone")
	require.Equal(t, 4, result.Waits)
	require.Equal(t, []string{"Saved."}, result.Told)
	require.Len(t, result.Questions, 4)
	require.Empty(t, result.Toasts)
	require.Equal(t, []string{
		"First.", "He swam far.", "He swam.", "He wrote.", "He knitted.\n\nHe read. He knitted.",
		"He wrote a poem.\n\nHe read.", "Typed instead, and on.", "My own words.", "Typed away, and on.",
		result.Appended, "Yesterday.",
	}, result.Records)
}
