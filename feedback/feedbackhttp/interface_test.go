package feedbackhttp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// rules maps sentences of the interface's description to what proves them.
type rules map[string]func(t *testing.T, e *env)

// check proves each rule on a fresh service.
func (r rules) check(t *testing.T) {
	t.Parallel()
	for rule, proof := range r {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			proof(t, newEnv(t))
		})
	}
}

func locations(a answer) (out []string) {
	list, _ := a.json["errors"].([]any)
	for _, e := range list {
		out = append(out, e.(object)["location"].(string))
	}
	return out
}

func TestConventions(t *testing.T) {
	rules{
		"timestamps RFC 3339 UTC, identifiers UUID version 7": func(t *testing.T, e *env) {
			a := e.do("POST", "/profiles", object{"name": "Ming", "start_time": "09:00"}).want(201)
			require.EqualValues(t, 7, uuid.MustParse(a.str("profile_id")).Version())
			require.Equal(t, "2026-05-31T09:00:00Z", a.str("created_at"))
		},
		"422 names each bad field": func(t *testing.T, e *env) {
			a := e.do("POST", "/profiles", object{"name": "", "academic_year": 1, "start_time": "9:00"}).want(422,
				"invalid_fields")
			require.ElementsMatch(t, []string{"body.name", "body.academic_year", "body.start_time"}, locations(a))
			a = e.do("POST", "/profiles", object{"name": "  ", "start_time": "10:00", "end_time": "09:00"}).want(422,
				"invalid_fields")
			require.ElementsMatch(t, []string{"body.name", "body.end_time"}, locations(a))
		},
		"lists answer items and next_cursor, limit 1..200, default 50": func(t *testing.T, e *env) {
			a := e.do("GET", "/profiles", nil).want(200)
			require.Equal(t, []any{}, a.json["items"])
			require.Nil(t, a.json["next_cursor"])
			require.Contains(t, a.json, "next_cursor")
			for range 51 {
				e.profile("Ming")
			}
			a = e.do("GET", "/profiles", nil).want(200)
			require.Len(t, a.json["items"], 50)
			a = e.do("GET", "/profiles?cursor="+a.str("next_cursor"), nil).want(200)
			require.Len(t, a.json["items"], 1)
			require.Nil(t, a.json["next_cursor"])
			require.Nil(t, e.do("GET", "/profiles?limit=51", nil).want(200).json["next_cursor"],
				"a full last page is the last page")
			for _, limit := range []string{"0", "201", "-1", "x"} {
				require.Equal(t, []string{"query.limit"},
					locations(e.do("GET", "/profiles?limit="+limit, nil).want(422)), limit)
			}
			e.do("GET", "/feedback-records?limit=200", nil).want(200)
			require.Equal(t, []string{"query.cursor"},
				locations(e.do("GET", "/feedback-records?cursor=nonsense", nil).want(422)))
		},
		"cursor=null and empty parameters are none": func(t *testing.T, e *env) {
			e.profile("Ming")
			for _, query := range []string{"cursor=null", "cursor=", "limit=&cursor="} {
				require.Len(t, e.do("GET", "/profiles?"+query, nil).want(200).json["items"], 1, query)
			}
			require.Empty(t, e.do("GET", "/feedback-records?profile_id=", nil).want(200).json["items"])
		},
		"a PUT may send back what was read": func(t *testing.T, e *env) {
			id := e.profile("Ming")
			read := e.do("GET", "/profiles/"+id, nil).json
			read["term"] = "spring"
			e.now.Add(time.Minute)
			dated := object{"profile_id": id, "feedback_date": "2026-05-31", "content": "x"}
			e.do("POST", "/feedback-records", dated).want(201)
			listed := e.do("GET", "/profiles", nil).json["items"].([]any)[0].(map[string]any)
			require.Equal(t, "2026-05-31", listed["last_feedback_date"])
			read["last_feedback_date"] = "2026-05-30" // another phone has saved a record since
			saved := e.do("PUT", "/profiles/"+id, read).want(200).json
			require.Equal(t, "spring", saved["term"])
			require.Equal(t, []string{"body.updated_at"}, locations(e.do("PUT", "/profiles/"+id, read).want(422)))
			saved["profile_id"], saved["created_at"] = uuid.NewString(), "2020-01-01T00:00:00Z"
			a := e.do("PUT", "/profiles/"+id, saved).want(422, "invalid_fields")
			require.Equal(t, []string{"body.profile_id", "body.created_at"}, locations(a))
			e.do("PUT", "/profiles/"+uuid.NewString(), read).want(404)

			session := e.session(id)
			e.upload(e.lesson(session), recording("x")).want(202)
			whole := e.do("GET", "/feedback-sessions/"+session, nil).json
			e.work() // changes the lessons and updated_at
			whole["feedback_text"] = "Ming mixed greens."
			e.do("PUT", "/feedback-sessions/"+session, whole).want(200)
			whole["generated_text"], whole["state"] = "mine", "completed"
			a = e.do("PUT", "/feedback-sessions/"+session, whole).want(422, "invalid_fields")
			require.Equal(t, []string{"body.state", "body.generated_text"}, locations(a))
			record := e.do("POST", "/feedback-records", object{"profile_id": id, "feedback_date": "2026-05-31",
				"content": "x", "feedback_session_id": session}).want(201).json
			e.do("PUT", "/feedback-sessions/"+session, whole).want(409, "session_completed")

			path := "/feedback-records/" + record["record_id"].(string)
			record["content"] = "y"
			require.Equal(t, record, e.do("PUT", path, record).want(200).json)
			record["feedback_session_id"], record["academic_year"] = uuid.NewString(), 2000
			a = e.do("PUT", path, record).want(422, "invalid_fields")
			require.Equal(t, []string{"body.feedback_session_id", "body.academic_year"}, locations(a))
			record = e.do("POST", "/feedback-records", object{"profile_id": id, "feedback_date": "2026-05-31",
				"content": "of no session"}).want(201).json
			path = "/feedback-records/" + record["record_id"].(string)
			require.Equal(t, record, e.do("PUT", path, record).want(200).json)
		},
		"a PUT may send back a session with long texts": func(t *testing.T, e *env) {
			session := e.session(e.profile("Ming"))
			lesson := e.lesson(session)
			for _, marker := range []string{"a", "b", "c", "d"} {
				segment := e.upload(lesson, recording(marker)).want(202).str("segment_id")
				e.do("PUT", "/audio-segments/"+segment+"/text", object{"text": strings.Repeat("音", 20_000)}).want(200)
			}
			whole := e.do("GET", "/feedback-sessions/"+session, nil).json
			e.do("PUT", "/feedback-sessions/"+session, whole).want(200)
		},
		"400 malformed multipart": func(t *testing.T, e *env) {
			lesson := e.lesson(e.session(e.profile("Ming")))
			e.do("POST", "/feedback-lessons/"+lesson+"/segments", "no form", "Content-Type",
				"multipart/form-data; boundary=x").want(400)
			e.do("POST", "/feedback-lessons/"+lesson+"/segments",
				"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\ncut",
				"Content-Type", "multipart/form-data; boundary=x").want(400, "upload_broken_off")
			require.Empty(t, e.files())
		},
		"413 too large, 415 another type": func(t *testing.T, e *env) {
			path, longest := "/feedback-sessions/"+e.session(e.profile("Ming")), strings.Repeat(`\ud83d\ude00`, 20_000)
			e.do("PUT", path, `{"feedback_text":"`+longest+`"}`).want(200)
			e.do("PUT", path, `{"feedback_text":"`+strings.Repeat("x", 3<<20)+`"}`).want(413, "too_large")
			e.do("POST", "/profiles", `{"name":"`+strings.Repeat("x", 300<<10)+`"}`).want(413, "too_large")
			e.do("POST", "/profiles", "name=Ming", "Content-Type", "application/x-www-form-urlencoded").want(415)
		},
		"an identifier that is not a UUID is 422": func(t *testing.T, e *env) {
			for _, path := range []string{"/profiles/x", "/feedback-sessions/x", "/audio-segments/x",
				"/audio-segments/x/audio", "/feedback-sessions/x/events"} {
				require.Len(t, locations(e.do("GET", path, nil).want(422)), 1, path)
			}
		},
	}.check(t)
}

func TestProfiles(t *testing.T) {
	rules{
		"the fields of a profile": func(t *testing.T, e *env) {
			in := object{"name": "Ming", "grade": "3", "subject": "Music", "academic_year": 2025, "term": "spring",
				"guardian_title": "Ming's mother", "start_time": "09:00", "end_time": "10:00"}
			a := e.do("POST", "/profiles", in).want(201)
			id := a.str("profile_id")
			for key, value := range in {
				require.EqualValues(t, value, a.json[key], key)
			}
			require.Len(t, a.json, len(in)+3)
			require.Equal(t, a.json, e.do("GET", "/profiles/"+id, nil).want(200).json)
		},
		"lists filter by query, grade and subject": func(t *testing.T, e *env) {
			e.do("POST", "/profiles", object{"name": "b%", "grade": "3", "subject": "Music"}).want(201)
			e.profile("B")
			for query, want := range map[string]int{"": 2, "?query=b": 2, "?query=%25": 1, "?grade=3": 1,
				"?subject=Music": 1, "?query=b&grade=3&subject=Art": 0, "?grade=art+class": 0} {
				require.Len(t, e.do("GET", "/profiles"+query, nil).want(200).json["items"], want, query)
			}
			for _, query := range []string{"%00", strings.Repeat("x", 60_000), "%ff"} {
				e.do("GET", "/profiles?query="+query, nil).want(422)
			}
		},
		"defaults are an art class until they are saved": func(t *testing.T, e *env) {
			art := object{"grade": "Art class", "subject": "Art", "lesson_duration_minutes": 90.0, "language": "",
				"message_template": "", "summary_instructions": ""}
			require.Equal(t, art, e.do("GET", "/profile-defaults", nil).want(200).json)
			for languages, subject := range map[string]string{"zh-CN,zh;q=0.9,en;q=0.8": "美术", "zh-TW": "美术",
				"en-US,en;q=0.9,zh;q=0.8": "Art", "de, zh;q=0.5": "美术", "*": "Art", "zh;q=x,,\x00": "Art"} {
				got := e.do("GET", "/profile-defaults", nil, "Accept-Language", languages).want(200).json
				require.Equal(t, subject, got["subject"], languages)
			}
			chinese := []string{"Accept-Language", "zh-CN"}
			created := e.do("POST", "/profiles", object{"name": "陈晨"}, chinese...).want(201).json
			require.Equal(t, "美术班", created["grade"])
			mine := object{"grade": "", "subject": "Music", "lesson_duration_minutes": 600.0, "language": "zh-CN",
				"message_template": "{text}", "summary_instructions": "Be brief."}
			require.Equal(t, mine, e.do("PUT", "/profile-defaults", mine).want(200).json)
			require.Equal(t, mine, e.do("GET", "/profile-defaults", nil).want(200).json)
			for _, in := range []object{{"grade": "3", "subject": "x"},
				{"grade": "3", "subject": "x", "lesson_duration_minutes": 0},
				{"grade": "3", "subject": "x", "lesson_duration_minutes": 601},
				{"grade": "3", "lesson_duration_minutes": 1},
				{"grade": "3", "subject": "x", "lesson_duration_minutes": 1, "language": "chinese"},
				{"grade": "3", "subject": "x", "lesson_duration_minutes": 1, "message_template": "Dear {guardian}"}} {
				e.do("PUT", "/profile-defaults", in).want(422)
			}
			mine["grade"], mine["lesson_duration_minutes"] = "4", 60.0
			other := object{"grade": "4", "subject": "Music", "lesson_duration_minutes": 60.0}
			kept := e.do("PUT", "/profile-defaults", other).want(200).json
			require.Equal(t, mine, kept, "a client that does not know the other fields keeps them")
			require.Equal(t, kept, e.do("GET", "/profile-defaults", nil).want(200).json)
		},
	}.check(t)
}

func TestRecords(t *testing.T) {
	rules{
		"POST makes a record": func(t *testing.T, e *env) {
			profile := e.profile("Ming")
			in := object{"profile_id": profile, "feedback_date": "2026-05-31", "content": "well\ndone",
				"feedback_session_id": nil}
			a := e.do("POST", "/feedback-records", in).want(201)
			for key, value := range in {
				require.Equal(t, value, a.json[key], key)
			}
			require.Contains(t, a.json, "feedback_session_id")
			delete(in, "feedback_session_id")
			e.do("POST", "/feedback-records", in).want(201)
		},
		"a report over several": func(t *testing.T, e *env) {
			profile := e.profile("Ming")
			var records []any
			for _, day := range []string{"2026-05-01", "2026-05-08"} {
				records = append(records, e.do("POST", "/feedback-records", object{"profile_id": profile,
					"feedback_date": day, "content": "Painted a pond."}).want(201).str("record_id"))
			}
			path := "/profiles/" + profile + "/report"
			a := e.do("POST", path, object{"from": "2026-05-01", "to": "2026-05-31"}).want(200)
			require.Equal(t, []any{0.0, 2.0, "local"}, []any{a.json["lessons"], a.json["records"], a.json["source"]})
			require.Contains(t, a.str("text"), "1 May 2026 to 8 May 2026:\n\n[Painted a pond.][Painted a pond.]")
			require.Subset(t, records, a.json["sentences"].([]any)[0].(object)["records"])
			e.do("POST", path, object{"academic_year": 2026}).want(200)
			e.do("POST", path, object{"academic_year": 2026, "term": "x"}).want(422, "nothing_to_report")
			for _, bad := range []any{object{}, object{"from": "x", "to": "y"}, object{"academic_year": 1e300}} {
				e.do("POST", path, bad).want(422, "invalid_fields")
			}
			e.do("POST", path, nil).want(400)
			e.do("POST", "/profiles/"+uuid.NewString()+"/report", object{"academic_year": 2026}).want(404, "not_found")
			e.summary.err = errOrdinary
			e.do("POST", path, object{"academic_year": 2026}).want(502, "summary_failed")
		},
		"one is taken along as a text": func(t *testing.T, e *env) {
			id := e.do("POST", "/feedback-records", object{"profile_id": e.profile("Ming"),
				"feedback_date": "2026-05-31", "content": "Well *done*."}).want(201).str("record_id")
			path := "/feedback-records/" + id + "/text"
			for query, want := range map[string][]string{
				"":            {"text/plain; charset=utf-8", "txt", "Ming, 31 May 2026\n\nWell *done*.\n"},
				"?format=txt": {"text/plain; charset=utf-8", "txt", "Ming, 31 May 2026\n\nWell *done*.\n"},
				"?format=md":  {"text/markdown; charset=utf-8", "md", "# Ming, 31 May 2026\n\nWell \\*done\\*.  \n"},
			} {
				a := e.do("GET", path+query, nil).want(200)
				require.Equal(t, want[0], a.Header().Get("Content-Type"))
				require.Equal(t, `attachment; filename="feedback-2026-05-31.`+want[1]+`"`,
					a.Header().Get("Content-Disposition"))
				require.Equal(t, want[2], a.Body.String())
			}
			for _, bad := range []string{"html", "MD", "%00", strings.Repeat("x", 5000)} {
				e.do("GET", path+"?format="+bad, nil).want(422, "invalid_fields")
			}
			e.do("GET", path+"?fromat=md", nil).want(422)
			e.do("GET", "/feedback-records/x/text", nil).want(422)
			e.do("GET", "/feedback-records/"+uuid.NewString()+"/text", nil).want(404, "not_found")
		},
		"lists are of one student or all": func(t *testing.T, e *env) {
			ming := e.profile("Ming")
			for _, profile := range []string{ming, e.profile("Li"), ming} {
				e.do("POST", "/feedback-records",
					object{"profile_id": profile, "feedback_date": "2026-05-31", "content": "x"}).want(201)
			}
			for query, want := range map[string]int{"": 3, "?profile_id=" + ming: 2,
				"?profile_id=" + uuid.Nil.String(): 0} { // the nil UUID is not the absence of a condition
				require.Len(t, e.do("GET", "/feedback-records"+query, nil).want(200).json["items"], want, query)
			}
		},
		"a request with an Idempotency-Key is answered once": func(t *testing.T, e *env) {
			body := object{"profile_id": e.profile("Ming"), "feedback_date": "2026-05-31", "content": "x"}
			post := func(key string) answer { return e.do("POST", "/feedback-records", body, "Idempotency-Key", key) }
			first := post("a").want(201)
			require.Equal(t, first.json, post("a").want(201).json)
			require.NotEqual(t, first.json, post("b").want(201).json)
			require.NotEqual(t, first.json, e.do("POST", "/feedback-records", body).want(201).json)
			body["content"] = "y"
			post("a").want(409, "idempotency_key_reused")
			require.Equal(t, 3, e.count("feedback_records"))
			for _, bad := range []string{"a b", "ключ", strings.Repeat("k", 256)} {
				require.Equal(t, []string{"header.Idempotency-Key"}, locations(post(bad).want(422)), bad)
			}
		},
	}.check(t)
}
