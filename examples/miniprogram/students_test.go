package miniprogram_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOneOfFortyStudentsIsFoundAndEditedAndItsRecordsDeleted(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	chat := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) > 1 { // for the report
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"choices":[{"finish_reason":"length","message":{"role":"assistant",
			"content":"He painted 1777 ponds."}}]}`)
	})
	var result struct {
		Found, States    []any
		Forms            []string
		Mended           []any // a record, without a network
		All              string
		Edited           map[string]any
		Warnings, Toasts []string
		Applied          []bool
	}
	inVM(t, "students", &result, map[string]string{
		"FEEDBACK_SUMMARY_API_URL": chat, "FEEDBACK_SUMMARY_API_KEY": "key", "FEEDBACK_SUMMARY_MODEL": "model",
	})
	const hostile = "<b>{{x}}</b> שלום 👩‍👩‍👧"
	require.Equal(t, []any{8., "张三", "Student 35", hostile + ", 阿宝, 李四", hostile, "", 8.}, result.Found)
	require.Equal(t, hostile+", 阿宝, 李四, 张三", result.All, "by pinyin")
	require.Equal(t, map[string]any{
		"title": "<i>李</i> {{t}}", "name": "<i>李</i> {{t}}", "grade": "Grade ７", "subject": "Art", "term": "秋",
		"academic_year": 2027., "guardian_title": "李妈妈", "start_time": "20:00", "end_time": "21:30",
	}, result.Edited, "the end was too early")
	require.Equal(t, []string{
		"The text may be incomplete.", "Some numbers or dates were not said. Please check.",
		"- 1777: He painted 1777 ponds.", "Some of what was said is not in the text. Please check.",
		"- 33741, 3, 5, 66: Heard 33741 bytes 3e5ea66f.", "摘要服务不可用，文字由原句组成。",
	}, result.Warnings)
	require.Equal(t, []bool{true, false}, result.Applied, "nothing is left to be summed up")
	require.Equal(t, []string{"Grade 8", "Music", "请检查：下课时间。", "小莉", "小丽", ""}, result.Forms)
	require.Equal(t, []any{
		"false,false,false,true", "尚未保存", nil, "First.", "2026-01-31", "First.", "2026-01-31", false,
		"<i>李</i> {{t}} · Grade 8 · Music",
	}, result.Mended)
	require.Equal(t, []any{
		"Four. Three. Two.", "Four. Three. Two. First.", 3., "Three. Two. First.", "First.",
	}, result.States)
	const invalid, away, gone = "Please check: Name.", "无法连接服务器。", "该内容已不存在。"
	require.Equal(t, []string{invalid, away, away, gone, result.Forms[2], away}, result.Toasts)
}
