package service

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/sqlstore"
	"lessonkit.example/internal/bench/harness"
	"lessonkit.example/internal/db"
	"lessonkit.example/internal/pgtest"
)

// pages compares the time of a page of a list of a million records with that of a thousand: first
// pages and pages in the middle, on both engines.
func (b *bench) pages(ctx context.Context) {
	b.onEngines(func(engine string, ours *process) {
		var lists [2]request
		for i, n := range []int{1_000_000, 1_000} {
			lists[i] = longList(ctx, ours, i, n)
		}
		run := func(next request) func() float64 {
			return func() float64 { return 2 * 1000 / harness.Must(load(ours.spec.Addr, 2, 200, next)) } // two at once
		}
		row := harness.Row{Name: "list page of 1 000 000 records, " + engine, Unit: "ms", PeerName: "of 1 000",
			Better: harness.Lower, Must: 1.3}
		b.Alternate(row, run(lists[0]), run(lists[1]))
	})
}

// onEngines calls f with a new server on each engine.
func (b *bench) onEngines(f func(engine string, ours *process)) {
	f("sqlite", b.start(spec{Side: "ours"}))
	pg := pgtest.Start(&b.TB, pgtest.Options{Settings: map[string]string{"shared_buffers": "512MB"}})
	f("postgres", b.start(spec{Side: "ours", URL: pg.URL()}))
}

// search measures the time of searches among 100,000 records of one teacher, of 200 to 1,400 bytes
// each, one of three in Chinese, on both engines.
func (b *bench) search(ctx context.Context) {
	b.onEngines(func(engine string, ours *process) {
		b.records(ctx, ours, 100_000)
		for _, c := range []struct{ name, query string }{
			{"none found", "没有的词"}, {"no English word found", "absent"}, {"ten found", "罕见的词"},
			{"ten found in English", "Rare Word"}, {"a third found", "倒影"}, {"two thirds found", "greens"},
		} {
			path := "/api/v1/feedback-records?query=" + url.QueryEscape(c.query)
			next := func(*rand.Rand, int) net.Buffers { return message("GET", path, ours.world.Tokens[0], "") }
			b.Repeat(harness.Row{Name: "search of 100 000 records, " + c.name + ", " + engine, Unit: "ms",
				Better: harness.Lower, Must: 100},
				func() float64 { return 1000 / harness.Must(load(ours.spec.Addr, 1, 200, next)) })
		}
	})
}

// records inserts n records of a student of the first teacher, each as the server does.
func (b *bench) records(ctx context.Context, ours *process, n int) {
	opened := harness.Must(db.Open(ours.spec.URL))
	defer opened.Close()
	store := sqlstore.NewPostgres(opened.W, nil)
	if opened.Engine == db.SQLite {
		store = sqlstore.NewSQLite(opened.W, opened.R, nil)
		harness.Must(opened.W.ExecContext(ctx, "pragma synchronous = off"))
	}
	w := ours.world
	var teacher uuid.UUID
	profile := uuid.MustParse(w.Profiles[0][0])
	harness.Check(opened.R.QueryRowContext(ctx, `select teacher_id from feedback_profiles where profile_id = $1`,
		profile).Scan(&teacher))
	for i := range n {
		text := content(i)
		if i%3 == 0 {
			text = fmt.Sprintf("%d。", i) + strings.Repeat("小明今天自己调了绿色，水面上的倒影画得很仔细。", 1+len(text)/70)
		}
		if i%10_000 == 0 {
			text += "罕见的词 a rare word"
		}
		_, _, err := store.InsertRecord(ctx, feedback.Record{ID: uuid.Must(uuid.NewV7()), TeacherID: teacher,
			ProfileID: profile, Date: date(i), Content: text, CreatedAt: time.Now().Truncate(time.Microsecond)}, nil)
		harness.Check(err)
	}
	analyze(ctx, opened)
}

// longList inserts n records of a new student of a teacher, and returns requests for pages of that
// student's records: half of them the first, half from the middle.
func longList(ctx context.Context, ours *process, teacher, n int) request {
	w := ours.world
	store := harness.Must(db.Open(ours.spec.URL))
	defer store.Close()
	profile := newID()
	now := db.Time(time.Now())
	tx := harness.Must(store.W.BeginTx(ctx, nil))
	defer tx.Rollback()
	harness.Must(tx.ExecContext(ctx, `
		insert into feedback_profiles
		select $1, teacher_id, name, name_folded, grade, subject, academic_year, term, guardian_title,
			start_time, end_time, created_at, updated_at
		from feedback_profiles where profile_id = $2`, profile, w.Profiles[teacher][0]))
	insert := harness.Must(tx.PrepareContext(ctx, `
		insert into feedback_records (record_id, teacher_id, profile_id, feedback_date, content, content_folded,
			academic_year, term, created_at, version)
		select $1, teacher_id, profile_id, $2, $3, $3, academic_year, term, $4, 1
		from feedback_profiles where profile_id = $5`))
	for i := range n {
		harness.Must(insert.ExecContext(ctx, newID(), date(i), content(0), now, profile))
	}
	harness.Check(tx.Commit())
	analyze(ctx, store)
	var middle string
	var day db.Date
	var created time.Time
	harness.Check(store.R.QueryRowContext(ctx, `
		select record_id, feedback_date, created_at from feedback_records where profile_id = $1
		order by feedback_date desc, created_at desc, record_id desc limit 1 offset $2`, profile, n/2).
		Scan(&middle, &day, (*db.Time)(&created)))
	first := filterPath(profile)
	paths := []string{first, first + "&cursor=" + cursorAt(string(day), created, middle)}
	return func(r *rand.Rand, _ int) net.Buffers {
		return message("GET", paths[r.IntN(2)], w.Tokens[teacher], "")
	}
}

// cursorAt is a next_cursor of the list of records.
func cursorAt(day string, created time.Time, id string) string {
	key := fmt.Appendf(nil, `{"l":"records","k":[%q,%q],"i":%q}`, day, created.Format(time.RFC3339Nano), id)
	return base64.RawURLEncoding.EncodeToString(key)
}
