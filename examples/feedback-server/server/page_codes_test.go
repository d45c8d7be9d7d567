package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// On the Chinese page, failures and warnings have Chinese words, whatever the service says; the
// service's own text is shown for a code that the page does not know.
func TestChinesePageQuotesNoEnglish(t *testing.T) {
	t.Parallel()
	summaries := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(summaries.Close)
	recognizer := saying("今天我们画了一个池塘。", func(n int32, w http.ResponseWriter, _ *http.Request) bool {
		if n == 2 {
			http.Error(w, `{"error":{"message":"no speech in it"}}`, http.StatusUnprocessableEntity)
		}
		return n == 2
	})
	n := newFaultyNetwork(t, development(t, recognizer, "ASR_WORKER_CONCURRENCY", "1",
		"FEEDBACK_SUMMARY_API_URL", summaries.URL, "FEEDBACK_SUMMARY_MODEL", "none"))
	b := newBrowser(t, chromedp.Flag("lang", "en-US"))
	c, p := withStudent(t, n.url, "anna")
	withLesson(t, c, p.ID, "lesson1-segment0.mp3", "lesson1-segment1.mp3")
	b.showStudent(n.url, p.ID)
	b.clickButton("中文")
	b.waitText("今天我们画了一个池塘。")
	b.waitText("识别失败 – 录音无法使用")
	b.clickButton("根据课程生成")
	b.waitText("无法使用摘要服务")
	for _, refusal := range []struct{ code, words string }{
		{"not_audio", "服务器未接受 – 这不是可以识别的音频。"},
		{"new_code", "服务器未接受 – 操作未成功：the server's text"},
	} {
		n.fail(func(w http.ResponseWriter, r *http.Request) bool {
			fails := r.Method == http.MethodPost && r.URL.Query().Has("sequence")
			if fails {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusUnsupportedMediaType)
				fmt.Fprintf(w, `{"code": %q, "detail": "the server's text"}`, refusal.code)
			}
			return fails
		})
		b.addFiles(sample(t, "lesson1-segment2.mp3"))
		b.waitText(refusal.words)
		if refusal.code == "new_code" {
			break
		}
		require.NotRegexp(t, `[a-z]{4,}`, b.eval(`document.querySelector(".transcript").innerText
			.replace("lesson1-segment2.mp3", "")`))
		b.clickButton("English")
		b.waitText("It is not audio that can be recognised.")
		b.clickButton("中文")
		b.waitText(refusal.words)
	}
}
