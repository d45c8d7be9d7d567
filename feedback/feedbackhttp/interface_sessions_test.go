package feedbackhttp_test

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbackhttp"
	"lessonkit.example/feedback/feedbacktest"
)

func TestSessions(t *testing.T) {
	rules{
		"active: the session whole, or 404 no_active_session": func(t *testing.T, e *env) {
			profile := e.profile("Ming")
			e.do("GET", "/feedback-sessions/active?profile_id="+profile, nil).want(404, "no_active_session")
			none := e.do("GET", "/feedback-sessions/active?optional=true&profile_id="+profile, nil).want(204)
			require.Empty(t, none.Body.String())
			e.do("GET", "/feedback-sessions/active", nil).want(422)
			session := e.session(profile)
			a := e.do("GET", "/feedback-sessions/active?profile_id="+profile, nil).want(200)
			require.Equal(t, session, a.str("session_id"))
			require.Equal(t, a.json, e.do("GET", "/feedback-sessions/"+session, nil).want(200).json)
		},
		"POST: 201 new or 200 resumed": func(t *testing.T, e *env) {
			profile := e.profile("Ming")
			a := e.do("POST", "/feedback-sessions",
				object{"profile_id": profile, "feedback_date": "2026-06-01"}).want(201)
			require.Equal(t, "2026-06-01", a.str("feedback_date"))
			again := e.do("POST", "/feedback-sessions", object{"profile_id": profile}).want(200)
			require.Equal(t, a.json, again.json)
			edited := e.do("PUT", "/feedback-sessions/"+a.str("session_id"), object{"feedback_text": "x"}).want(200)
			require.Equal(t, "2026-06-01", edited.str("feedback_date"), "an edit without a day keeps it")
			require.Equal(t, "2026-05-31",
				e.do("POST", "/feedback-sessions",
					object{"profile_id": e.profile("Li")}).want(201).str("feedback_date"), "today")
			e.do("POST", "/feedback-sessions", object{"profile_id": profile, "feedback_date": "x"}).want(422)
			require.Equal(t, []string{"body.profile_id"},
				locations(e.do("POST", "/feedback-sessions", object{"profile_id": uuid.NewString()}).want(422)))
		},
		"a session whole": func(t *testing.T, e *env) {
			session := e.session(e.profile("Ming"))
			lesson := e.lesson(session)
			e.upload(lesson, recording("b"), part{name: "sequence", value: "1"},
				part{name: "duration_ms", value: "60000"}).want(202)
			e.upload(lesson, recording("a"), part{name: "sequence", value: "0"}).want(202)
			a := e.do("GET", "/feedback-sessions/"+session, nil).want(200)
			require.Equal(t, "active", a.str("state"))
			l := a.json["lessons"].([]any)[0].(object)
			require.Equal(t, []any{lesson, 1.0, "recording", false, nil, ""},
				[]any{l["lesson_id"], l["number"], l["state"], l["applied"], l["finished_at"], l["transcript"]})
			s := l["segments"].([]any)[1].(object)
			require.Equal(t, []any{1.0, "queued", "", nil, 0.0, 60000.0, float64(len(feedbacktest.MP3("b"))),
				"audio/mpeg", nil},
				[]any{s["sequence"], s["state"], s["text"], s["error"], s["attempts"], s["duration_ms"],
					s["size_bytes"], s["content_type"], s["transcribed_at"]})
			require.Equal(t, []any{0.0, nil}, []any{s["ahead"], s["estimated_wait_seconds"]}, "uploaded first")
			s = l["segments"].([]any)[0].(object)
			require.Equal(t, []any{1.0, nil}, []any{s["ahead"], s["estimated_wait_seconds"]}, "no speed yet")
			require.NoError(t, e.work())
			a = e.do("GET", "/feedback-sessions/"+session, nil).want(200)
			l = a.json["lessons"].([]any)[0].(object)
			require.Equal(t, "Said a.\nSaid b.", l["transcript"], "in sequence order")
			s = l["segments"].([]any)[0].(object)
			require.Equal(t, []any{"transcribed", "Said a.", 1500.0, "2026-05-31T09:00:00Z", 1.0},
				[]any{s["state"], s["text"], s["duration_ms"], s["transcribed_at"], s["attempts"]})
		},
		"a stale If-Match is 412": func(t *testing.T, e *env) {
			session := e.session(e.profile("Ming"))
			tag := e.do("GET", "/feedback-sessions/"+session, nil).want(200).Header().Get("ETag")
			require.NotEmpty(t, tag)
			next := e.do("PUT", "/feedback-sessions/"+session, object{"feedback_text": "first device"}, "If-Match",
				tag).want(200).Header().Get("ETag")
			require.NotEqual(t, tag, next)
			e.do("PUT", "/feedback-sessions/"+session, object{"feedback_text": "second device"}, "If-Match",
				tag).want(412, "stale_version")
			e.do("PUT", "/feedback-sessions/"+session, object{"feedback_text": "x"}, "If-Match",
				`"nonsense"`).want(412)
			e.do("PUT", "/feedback-sessions/"+session, object{"feedback_text": "x"}, "If-Match",
				"W/"+next).want(412) // RFC 9110, section 13.1.1
			require.Equal(t, "first device", e.do("GET", "/feedback-sessions/"+session, nil).str("feedback_text"))
			e.do("PUT", "/feedback-sessions/"+session, object{"feedback_text": "x"}, "If-Match",
				tag+", "+next).want(200)
			e.do("PUT", "/feedback-sessions/"+session, object{"feedback_text": "y"}, "If-Match", "*").want(200)
			tag = e.do("GET", "/feedback-sessions/"+session, nil).Header().Get("ETag")
			e.upload(e.lesson(session), recording("x")).want(202)
			e.work()
			e.do("PUT", "/feedback-sessions/"+session, object{"feedback_text": "z"}, "If-Match",
				tag).want(200) // transcription is not an edit
		},
		"generate: text, source, lessons, segments": func(t *testing.T, e *env) {
			session := e.session(e.profile("Ming"))
			e.do("POST", "/feedback-sessions/"+session+"/generate", nil).want(409, "nothing_transcribed")
			var lessons []string
			var segments []any
			for i := range 3 {
				l := e.lesson(session)
				lessons = append(lessons, l)
				segments = append(segments, e.upload(l, recording(strconv.Itoa(i))).want(202).str("segment_id"))
				e.do("POST", "/feedback-lessons/"+l+"/finish", nil).want(200)
			}
			e.do("POST", "/feedback-sessions/"+session+"/generate", object{}).want(409, "nothing_transcribed")
			e.work()
			e.upload(lessons[2], recording("still waiting")).want(202)
			e.do("PUT", "/feedback-sessions/"+session, object{"feedback_text": "my own"}).want(200)
			a := e.do("POST", "/feedback-sessions/"+session+"/generate", nil).want(200)
			require.Equal(t, object{"text": "[Said 0.][Said 1.][Said 2.]", "source": "local", "lessons": 3.0,
				"sentences": []any{object{"text": "[Said 0.][Said 1.][Said 2.]", "segments": segments,
					"supported": true, "unsure": false}},
				"segments": object{"total": 4.0, "queued": 1.0, "transcribing": 0.0, "transcribed": 3.0,
					"failed": 0.0}, "warning_codes": []any{}}, a.json)
			whole := e.do("GET", "/feedback-sessions/"+session, nil)
			require.Equal(t, []string{"[Said 0.][Said 1.][Said 2.]", "my own"},
				[]string{whole.str("generated_text"), whole.str("feedback_text")})

			e.do("POST", "/feedback-lessons/"+lessons[1]+"/mark-applied", nil).want(200)
			require.Equal(t, "[Said 0.][Said 2.]", e.do("POST", "/feedback-sessions/"+session+"/generate",
				nil).want(200).str("text"), "without the applied one")
			require.Equal(t, "[Said 0.][Said 1.]", e.do("POST", "/feedback-sessions/"+session+"/generate",
				object{"lesson_ids": []string{lessons[1], lessons[0]}}).want(200).str("text"), "those named, in order")
			require.Equal(t, []string{"body.lesson_ids"},
				locations(e.do("POST", "/feedback-sessions/"+session+"/generate",
					object{"lesson_ids": []string{uuid.NewString()}}).want(422)))
			e.do("POST", "/feedback-sessions/"+session+"/generate", object{"lesson_ids": []string{}}).want(422)
		},
		"a warning is passed on, and a summary that fails without a fallback is 502": func(t *testing.T, e *env) {
			session := e.session(e.profile("Ming"))
			e.upload(e.lesson(session), recording("x")).want(202)
			e.work()
			generate := func() answer { return e.do("POST", "/feedback-sessions/"+session+"/generate", nil) }
			e.summary.err = errOrdinary
			require.NotContains(t, generate().want(502, "summary_failed").Body.String(), "10.0.0.1")
			require.Empty(t, e.do("GET", "/feedback-sessions/"+session, nil).str("generated_text"))
			e.summary.err = nil
			e.summary.warning, e.summary.codes = "made here", []feedback.SummaryWarning{feedback.WarningFallback}
			warned := generate().want(200)
			require.Equal(t, "made here", warned.str("warning"))
			require.Equal(t, []any{"summary_service_failed"}, warned.json["warning_codes"])
		},
	}.check(t)
}

func TestUploads(t *testing.T) {
	rules{
		"the limits of a day are 429 until it ends": func(t *testing.T, e *env) {
			e.serve(func(c *feedback.Config, _ *feedbackhttp.Config) { c.Limits.Segments = 1 })
			lesson := e.lesson(e.session(e.profile("Ming")))
			e.upload(lesson, recording("a")).want(202)
			refused := e.upload(lesson, recording("b")).want(429, "daily_limit_reached")
			require.Equal(t, "54000", refused.Header().Get("Retry-After"), "the rest of the day of the test's clock")
		},
		"the parts come in any order, as file or audio": func(t *testing.T, e *env) {
			lesson := e.lesson(e.session(e.profile("Ming")))
			audio := part{name: "audio", file: "x", value: string(feedbacktest.MP3("1"))}
			a := e.upload(lesson, audio, part{name: "duration_ms", value: "10"},
				part{name: "sequence", value: "9999"}).want(202)
			require.Equal(t, []any{9999.0, 10.0}, []any{a.json["sequence"], a.json["duration_ms"]})
			e.upload(lesson, part{name: "sequence", value: "0"}, recording("2")).want(202)
		},
		"or the audio is the body, the rest query parameters": func(t *testing.T, e *env) {
			lesson := e.lesson(e.session(e.profile("Ming")))
			a := e.do("POST", "/feedback-lessons/"+lesson+"/segments?sequence=5&duration_ms=7",
				string(feedbacktest.MP3("1")), "Content-Type", "audio/mp4").want(202)
			require.Equal(t, []any{5.0, 7.0, "audio/mpeg"},
				[]any{a.json["sequence"], a.json["duration_ms"], a.json["content_type"]})
			require.Equal(t, 6.0, e.do("POST", "/feedback-lessons/"+lesson+"/segments", string(feedbacktest.MP3("2")),
				"Content-Type", "audio/mpeg").want(202).json["sequence"], "the next")
		},
		"recognised by content, not by name or declared type": func(t *testing.T, e *env) {
			lesson := e.lesson(e.session(e.profile("Ming")))
			a := e.upload(lesson, part{name: "file", file: "../../etc/passwd.html", contentType: "text/html",
				value: string(feedbacktest.MP3("1"))}).want(202)
			require.Equal(t, "audio/mpeg", a.str("content_type"))
			for _, name := range e.files() {
				require.NotContains(t, name, "passwd")
			}
			e.upload(lesson, part{name: "file", file: "a.mp3", contentType: "audio/mpeg", value: "<html>"}).want(415,
				"not_audio")
			e.do("POST", "/feedback-lessons/"+lesson+"/segments", "hello", "Content-Type", "audio/mpeg").want(415,
				"not_audio")
			e.do("POST", "/feedback-lessons/"+lesson+"/segments", string(feedbacktest.MP3("1")), "Content-Type",
				"application/octet-stream").want(415, "unsupported_media_type")
			require.Len(t, e.files(), 1)
		},
		"raw samples when declared as such": func(t *testing.T, e *env) {
			lesson := e.lesson(e.session(e.profile("Ming")))
			samples := strings.Repeat("\x00\x01", 100)
			e.upload(lesson, part{name: "file", file: "x", value: samples}).want(415)
			a := e.upload(lesson, part{name: "file", file: "x", value: samples}, part{name: "format", value: "pcm"},
				part{name: "sample_rate", value: "16000"}, part{name: "channels", value: "1"}).want(202)
			require.Equal(t, []any{"audio/wav", 200.0}, []any{a.json["content_type"], a.json["size_bytes"]})
			e.do("POST", "/feedback-lessons/"+lesson+"/segments?format=pcm&sample_rate=8000&channels=2",
				samples+"\x00\x02", "Content-Type", "audio/pcm").want(202)
			undeclared := e.do("POST", "/feedback-lessons/"+lesson+"/segments", samples, "Content-Type",
				"audio/pcm; rate=8000; channels=2").want(415, "not_audio")
			require.Contains(t, undeclared.str("detail"), "raw samples (PCM) declared with")
			e.do("POST", "/feedback-lessons/"+lesson+"/segments?format=pcm", samples, "Content-Type",
				"audio/pcm").want(422)
			e.do("POST", "/feedback-lessons/"+lesson+"/segments?format=mp3", samples, "Content-Type",
				"audio/pcm").want(422)
			e.do("POST", "/feedback-lessons/"+lesson+"/segments?format=pcm&sample_rate=1&channels=1", samples,
				"Content-Type", "audio/pcm").want(422)
			wav := e.do("GET", "/audio-segments/"+a.str("segment_id")+"/audio", nil).want(200)
			require.Equal(t, 244, wav.Body.Len())
			require.Equal(t, "RIFF", wav.Body.String()[:4])
		},
		"empty 422, over the limit 413 and read no further": func(t *testing.T, e *env) {
			lesson := e.lesson(e.session(e.profile("Ming")))
			require.Equal(t, []string{"body.file"},
				locations(e.upload(lesson, part{name: "file", file: "x"}).want(422, "audio_empty")))
			e.upload(lesson, part{name: "sequence", value: "1"}).want(422)
			path := "/api/v1/feedback-lessons/" + lesson + "/segments"
			large := string(feedbacktest.MP3(strings.Repeat("x", 1<<20)))
			e.upload(lesson, part{name: "file", file: "x", value: large}).want(413, "audio_too_large")
			e.do("POST", strings.TrimPrefix(path, "/api/v1"), large, "Content-Type", "audio/mpeg").want(413,
				"audio_too_large")
			unread := &counter{}
			r := httptest.NewRequest("POST", path, unread)
			r.Header.Set("Content-Type", "audio/mpeg")
			r.ContentLength = -1
			e.send(r).want(413, "audio_too_large")
			require.LessOrEqual(t, unread.n, int64(1<<20+1))
			require.Empty(t, e.files())
		},
		"the same lesson and sequence again: 200, or 409 sequence_taken": func(t *testing.T, e *env) {
			lesson := e.lesson(e.session(e.profile("Ming")))
			first := e.upload(lesson, recording("a"), part{name: "sequence", value: "3"}).want(202)
			again := e.upload(lesson, recording("a"), part{name: "sequence", value: "3"}).want(200)
			require.Equal(t, first.json, again.json)
			e.upload(lesson, recording("b"), part{name: "sequence", value: "3"}).want(409, "sequence_taken")
			require.Equal(t, first.str("segment_id"), e.upload(lesson, recording("a")).want(200).str("segment_id"),
				"no sequence, the same bytes")
			require.Len(t, e.files(), 1)
			require.Equal(t, 1, e.count("test_jobs"))
		},
		"fields that are not known or no numbers are 422": func(t *testing.T, e *env) {
			lesson := e.lesson(e.session(e.profile("Ming")))
			for _, p := range []part{{name: "sequnce", value: "1"}, {name: "sequence", value: "x"},
				{name: "sequence", value: "-1"}, {name: "sequence", value: "10000"},
				{name: "sequence", value: strings.Repeat("1", 5000)}} {
				e.upload(lesson, p, recording("a")).want(422, "invalid_fields")
				e.upload(lesson, recording("a"), p).want(422, "invalid_fields")
			}
			e.upload(lesson, recording("a"), recording("b")).want(422)
			e.do("POST", "/feedback-lessons/"+lesson+"/segments?sequnce=1", string(feedbacktest.MP3("1")),
				"Content-Type", "audio/mpeg").want(422)
			require.Empty(t, e.files())
			require.Zero(t, e.count("feedback_segments"))
		},
		"duration_ms is a hint": func(t *testing.T, e *env) {
			lesson := e.lesson(e.session(e.profile("Ming")))
			for i, c := range []struct {
				sent string
				want any
			}{{"1234.56", 1235.0}, {"1e3", 1000.0}, {"60000", 60000.0}, {"0.2", nil}, {"-5", nil}, {"NaN", nil},
				{"null", nil}, {"", nil}, {"1e99", nil}, {"86400001", nil}} {
				sent := part{name: "duration_ms", value: c.sent}
				a := e.upload(lesson, sent, recording(fmt.Sprint(i))).want(202)
				require.Equal(t, c.want, a.json["duration_ms"], c.sent)
			}
		},
		"no such lesson is 404, before the body is read": func(t *testing.T, e *env) {
			for _, contentType := range []string{"audio/mpeg", "multipart/form-data; boundary=b"} {
				unread := &counter{}
				r := httptest.NewRequest("POST", "/api/v1/feedback-lessons/"+uuid.NewString()+"/segments", unread)
				r.Header.Set("Content-Type", contentType)
				r.ContentLength = -1
				e.send(r).want(404, "not_found")
				require.Zero(t, unread.n, contentType)
			}
		},
	}.check(t)
}

// counter is an endless body that counts how much of it was read.
type counter struct{ n int64 }

func (c *counter) Read(p []byte) (int, error) {
	n := copy(p, bytes.Repeat(feedbacktest.MP3(""), len(p)/6+1))
	c.n += int64(n)
	return n, nil
}

func TestSegments(t *testing.T) {
	rules{
		"transcribed again, one or all of a lesson": func(t *testing.T, e *env) {
			session := e.session(e.profile("Ming"))
			lesson := e.lesson(session)
			path := "/audio-segments/" + e.upload(lesson, recording("1")).want(202).str("segment_id")
			e.upload(lesson, recording("2")).want(202)
			e.do("POST", path+"/retry", nil).want(409, "segment_in_progress")
			e.work()
			for _, body := range []any{object{"language": "english"}, object{"language": 1},
				object{"lang": "en"}, "[]"} {
				for _, retry := range []string{path + "/retry", "/feedback-lessons/" + lesson + "/retry"} {
					require.Equal(t, 422, e.do("POST", retry, body).Code, body)
				}
			}
			again := e.do("POST", path+"/retry", object{"language": "en"}).want(202)
			require.Equal(t, []any{"queued", "Said 1."}, []any{again.json["state"], again.json["text"]})
			e.speech.fail(fault{permanent: true, public: "no speech"})
			e.work()
			kept := e.do("GET", path, nil).want(200)
			require.Equal(t, []any{"transcribed", "Said 1.", "no speech"},
				[]any{kept.json["state"], kept.json["text"], kept.json["error"]})
			e.speech.fail(nil)
			whole := e.do("POST", "/feedback-lessons/"+lesson+"/retry", nil).want(202)
			require.Equal(t, 2.0, whole.json["summary"].(object)["queued"])
			require.Equal(t, "Said 1.\nSaid 2.", whole.str("transcript"))
			require.NoError(t, e.work())
			require.Nil(t, e.do("GET", path, nil).want(200).json["error"])

			expired, err := e.store.ExpireAudio(t.Context(), e.now.Now().Add(time.Hour), 10, e.now.Now())
			require.NoError(t, err)
			require.Len(t, expired, 2)
			e.do("POST", path+"/retry", nil).want(409, "recording_deleted")
			e.do("POST", "/feedback-lessons/"+lesson+"/retry", object{"language": "en"}).want(409, "recording_deleted")
			e.do("POST", "/feedback-lessons/"+uuid.NewString()+"/retry", nil).want(404, "not_found")
		},
		"what was said is corrected by version": func(t *testing.T, e *env) {
			session := e.session(e.profile("Ming"))
			lesson := e.lesson(session)
			path := "/audio-segments/" + e.upload(lesson, recording("1")).want(202).str("segment_id")
			e.work()
			read := e.do("GET", path, nil).want(200)
			require.Nil(t, read.json["edited_text"])
			tag := read.Header().Get("ETag")
			const text = "Said \"one\".\nTwo 🙂."
			saved := e.do("PUT", path+"/text", object{"text": text}, "If-Match", tag).want(200)
			require.Equal(t, []any{"Said 1.", text}, []any{saved.json["text"], saved.json["edited_text"]})
			require.NotEqual(t, tag, saved.Header().Get("ETag"))
			e.do("PUT", path+"/text", object{"text": "x"}, "If-Match", tag).want(412, "stale_version")
			e.do("PUT", path+"/text", object{"text": "x"}, "If-Match", "nonsense").want(412, "stale_version")
			whole := e.do("GET", "/feedback-sessions/"+session, nil).want(200)
			l := whole.json["lessons"].([]any)[0].(object)
			require.Equal(t, text, l["transcript"])
			require.NotContains(t, l["segments"].([]any)[0], "sentences")
			require.Equal(t, "["+text+"]",
				e.do("POST", "/feedback-sessions/"+session+"/generate", nil).want(200).str("text"))
			for _, bad := range []any{object{}, object{"text": 1}, object{"text": "a\x00"},
				object{"text": "", "y": 1}, object{"text": strings.Repeat("课", 100_001)}} {
				e.do("PUT", path+"/text", bad).want(422, "invalid_fields")
			}
			e.do("PUT", path+"/text", object{"text": strings.Repeat("x", 600_000)}).want(413)
			e.do("PUT", path+"/text", object{"text": strings.Repeat("课", 100_000)}).want(200)
			require.Equal(t, true, e.do("GET", "/feedback-sessions/"+session, nil).want(200).
				json["lessons"].([]any)[0].(object)["truncated"], "answers stay small")
			back := e.do("PUT", path+"/text", object{"text": nil}, "If-Match", "*").want(200)
			require.Nil(t, back.json["edited_text"])
			require.Equal(t, read.json["sentences"], back.json["sentences"])
		},
		"audio, with range requests": func(t *testing.T, e *env) {
			id := e.upload(e.lesson(e.session(e.profile("Ming"))), recording("0123456789")).want(202).str("segment_id")
			path := "/audio-segments/" + id + "/audio"
			whole := e.do("GET", path, nil).want(200)
			require.Equal(t, feedbacktest.MP3("0123456789"), whole.Body.Bytes())
			require.Equal(t, "audio/mpeg", whole.Header().Get("Content-Type"))
			require.Equal(t, "bytes", whole.Header().Get("Accept-Ranges"))
			require.Equal(t, "nosniff", whole.Header().Get("X-Content-Type-Options"))
			some := e.do("GET", path, nil, "Range", "bytes=6-8").want(206)
			require.Equal(t, "012", some.Body.String())
			require.Equal(t, "bytes 6-8/16", some.Header().Get("Content-Range"))
			require.Equal(t, "89", e.do("GET", path, nil, "Range", "bytes=-2").want(206).Body.String())
			several := e.do("GET", path, nil, "Range", "bytes=0-0,6-8").want(206)
			require.Contains(t, several.Header().Get("Content-Type"), "multipart/byteranges")
			e.do("GET", path, nil, "Range", "bytes=0-0"+strings.Repeat(",0-0", 9)).want(206)
			e.do("GET", path, nil, "Range", "bytes=0-0"+strings.Repeat(",0-0", 10)).want(200)
			e.do("GET", path, nil, "Range", "bytes=99-").want(416, "range_not_satisfiable")
			e.do("GET", path, nil, "If-Match", `"another"`).want(412, "stale_version")
			tag := whole.Header().Get("ETag")
			e.do("GET", path, nil, "If-None-Match", tag).want(304)
			e.do("GET", path, nil, "If-None-Match", "W/"+tag).want(304) // of a proxy that compresses
			e.do("GET", path, nil, "If-Match", "W/"+tag).want(412, "stale_version")
			e.do("GET", path, nil, "Range", "bytes=6-8", "If-Range", "W/"+tag).want(200)
			e.do("GET", "/audio-segments/"+uuid.NewString()+"/audio", nil).want(404, "not_found")
		},
	}.check(t)
}
