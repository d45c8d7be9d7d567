package miniprogram_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/db"
)

// serve runs a handler, until the test ends.
func serve(t *testing.T, handle http.HandlerFunc) (url string) {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s.URL
}

func TestWhatWasSaidIsHeardCorrectedAndRecognisedAgain(t *testing.T) {
	t.Parallel()
	const invented = "He won a golden medal in Paris."
	database := "sqlite:" + filepath.Join(t.TempDir(), "x.db")
	answers := make(chan struct{}) // in English
	recogniser := serve(t, func(w http.ResponseWriter, r *http.Request) {
		language := r.FormValue("language")
		if language == "en" {
			select {
			case <-answers:
			case <-r.Context().Done():
			}
		}
		fmt.Fprintf(w, `{"text":"Heard in %s. He mixed three greens for the water.","segments":[
			{"text":"Heard in %s.","start":0,"end":0.5},
			{"text":"He mixed three greens for the water.","start":0.5,"end":1}]}`, language, language)
	})
	chat := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant",
			"content":"He mixed three greens for the water. %s"}}]}`, invented)
	})
	answer := serve(t, func(http.ResponseWriter, *http.Request) { close(answers) })
	deletion := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		store, err := db.Open(database)
		if err == nil {
			defer store.Close()
			err = store.Update(r.Context(), func(ctx context.Context, tx *sql.Tx) error {
				const deletes = `update feedback_segments set audio_deleted_at = $1`
				_, err := tx.ExecContext(ctx, deletes, db.Time(time.Now()))
				return err
			})
		}
		if err != nil {
			panic(err)
		}
	})
	var result struct {
		Title, Name, TooLong, Along, Foreign string
		Evidence, Conflict, Again, Toasts    []string
		Questions                            []string
		Marks, Drafts                        []string
		ToCheck                              int
		Played                               []float64
		Same, Record412                      []bool
		Edited                               struct{ Day, Content string }
		Report                               struct {
			Empty, Made  string
			Invented     []string
			Kept, Copied bool
			Asked        int
		}
	}
	inVM(t, "transcripts", &result, map[string]string{
		"DATABASE_URL": database, "LOCAL_ASR_URL": recogniser, "FEEDBACK_SUMMARY_API_URL": chat,
		"FEEDBACK_SUMMARY_API_KEY": "key", "FEEDBACK_SUMMARY_MODEL": "model",
	}, "DELETE_AUDIO="+deletion, "ANSWER="+answer)
	require.Equal(t, "<b>小明</b> {{name}} שלום 👩‍👩‍👧", result.Title)
	require.Equal(t, result.Title, result.Name)

	require.Equal(t, []string{"false " + invented, "true He mixed three greens for the water."}, result.Evidence)
	require.Equal(t, 1, result.ToCheck)
	require.Equal(t, []float64{0.5, 0, 0.5}, result.Played, "from the sentence")
	const unplayed = "手机无法播放这段录音，请再试一次，或在网页上听。"
	require.Equal(t, []string{"He mixed three greens for the water.", "Heard in .", "", unplayed}, result.Marks)

	require.Equal(t, []bool{true, true, true, true, true, true}, result.Same)
	const invalid = "请检查填写的内容：为空、过长或无效。"
	require.Equal(t, "未能保存，内容保留在手机上。"+invalid, result.TooLong)
	const recognised = " He mixed three greens for the water."
	require.Equal(t, []string{
		"Theirs.", "Theirs.", "Mine.", "Theirs.", "Mine.", "", "Heard in ." + recognised,
	}, result.Conflict)
	en, zh := "Heard in en."+recognised, "Heard in zh."+recognised
	require.Equal(t, []string{"Heard in ." + recognised, "Heard in ." + recognised, en, zh, zh}, result.Again)
	// Whether what was recognised again is in the text first depends on which answer is sooner.
	early := []string{
		"课堂文字改过，这里还没有改。请在这里也改一下，或重新生成。", "请先选择如何处理另一份文字。",
		"还有录音正在转成文字，现在保存会漏掉它。请稍候。",
	}
	result.Toasts = slices.DeleteFunc(result.Toasts, func(toast string) bool { return slices.Contains(early, toast) })
	require.Equal(t, []string{
		"内容已在别处改成下面的文字。请选择保留哪一个。",
		"录音已到期删除，无法重新识别。", "这段时间没有反馈记录。", invalid,
	}, result.Toasts, "in the teacher's words")

	require.Equal(t, []string{
		"还有录音正在转成文字。要等它吗？现在保存的记录不包含它，它会写进下一条记录。", "要替换您改过的小结吗？",
	}, result.Questions)
	require.Contains(t, result.Along, "She mixed her own greens.")
	require.Contains(t, result.Along, zh)
	require.Equal(t, []bool{true, true}, result.Record412)
	require.Equal(t, "2026-02-28", result.Edited.Day)
	require.Equal(t, "She mixed her own greens.", result.Edited.Content)
	require.Empty(t, result.Report.Empty)
	require.Equal(t, "根据 1 条反馈记录生成。", result.Report.Made)
	require.Contains(t, result.Report.Invented, invented)
	require.True(t, result.Report.Kept, "what was rewritten")
	require.Equal(t, 2, result.Report.Asked, "before it is replaced")
	require.True(t, result.Report.Copied)
	require.Equal(t, "false", result.Foreign, "no student, and no recording")
	require.Empty(t, result.Drafts, "all is saved")
}

func TestLessonIsRecordedWithoutANetworkByOneTeacher(t *testing.T) {
	t.Parallel()
	var result struct {
		Others struct {
			Students, Offline, Stored []any
			Kept, After               int
		}
		Other, Text, Theirs, Begun, Stays string
		NextText                          string
		Lessons, Parts, Questions, Toasts []string
		Left, Refused                     []string // why: before Try again, before Discard, of a deleted student
		Stored                            []any
		Uploads                           int
		Whose                             []int // the student, by number, of each recording
		Away, OnPage                      string
		Unkept                            []any // the files on a full phone, and what is said
	}
	const campus = "https://campus.example/"
	_, other, _ := start(t, map[string]string{
		"MINIAPP_APP_ID": "", "MINIAPP_APP_SECRET": "", "MINIAPP_API_URL": "", "OAUTH_NAME": "Campus",
		"OAUTH_CLIENT_ID": "id", "OAUTH_CLIENT_SECRET": "secret", "OAUTH_AUTH_URL": campus,
		"OAUTH_TOKEN_URL": campus, "OAUTH_USERINFO_URL": campus,
		"OAUTH_REDIRECT_URL": "https://school.example/api/v1/auth/oauth/callback",
	})
	inVM(t, "offline", &result, nil, "OAUTH="+other)
	require.Equal(t, "You can sign in to this server only on its web page.", result.OnPage)
	require.Empty(t, result.Others.Students)
	require.Empty(t, result.Others.Offline)
	require.Empty(t, result.Others.Stored)
	require.Equal(t, 2, result.Others.Kept, "for the first teacher")
	require.Equal(t, 2, result.Others.After)
	require.Equal(t, []string{result.Begun}, result.Lessons, "one lesson, with that of the other device")
	require.Len(t, result.Parts, 2)
	require.Equal(t, 14, result.Uploads, "each twice, because the answers were lost")
	require.Equal(t, []string{"It is not audio.", "It is not audio.", "The student was deleted."}, result.Refused)
	require.Equal(t, []any{0., "Recording has stopped: this phone cannot store more. " +
		"Keep the mini program open until everything is sent."}, result.Unkept)
	require.Equal(t, result.Text, result.NextText)
	require.Equal(t, "Typed elsewhere.", result.Other)
	require.Equal(t, result.Other, result.Theirs)
	require.Equal(t, "Typed without a network.", result.Text)
	require.Equal(t, []int{0, 1}, result.Whose)
	require.Equal(t, "/pages/student/student", result.Stays)
	require.Equal(t, "The server does not answer.", result.Away)
	require.Len(t, result.Questions, 3)
	require.Contains(t, result.Toasts[len(result.Toasts)-1], "The server could not be told", "the network is away")
	require.Empty(t, result.Left)
	require.Empty(t, result.Stored)
}
