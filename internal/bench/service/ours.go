package service

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/auth"
	authstore "lessonkit.example/auth/sqlstore"
	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/internal/bench/harness"
	"lessonkit.example/internal/db"
)

// serveOurs runs the real server with an empty database that it fills.
func serveOurs(ctx context.Context, s spec) {
	serve(ctx, s, server.RoleAPI, map[string]string{
		"AUDIO_STORAGE_DIR":      filepath.Join(s.Dir, "audio"),
		"LIMIT_REQUESTS":         "-1", // connections may choose the same teacher
		"LIMIT_SEGMENTS_PER_DAY": "-1", // which the recordings of an export exceed
	}, func() world { return seedOurs(ctx, s.URL) })
}

// serve runs the real server. Only its log is off, as the peer's is.
func serve(ctx context.Context, s spec, role server.Role, settings map[string]string, seed func() world) {
	settings["DATABASE_URL"], settings["HTTP_ADDR"] = s.URL, s.Addr
	config := harness.Must(server.ParseConfig(settings))
	debug.SetGCPercent(400) // as examples/feedback-server does
	harness.Check(server.Migrate(ctx, config, slog.New(slog.DiscardHandler)))
	srv := harness.Must(server.New(ctx, config, server.Options{Role: role}))
	defer srv.Close()
	w := seed()
	l := harness.Must(net.Listen("tcp", s.Addr))
	harness.Report(w)
	harness.Check(srv.Run(ctx, l))
}

// codes is a platform whose login codes are user names.
type codes struct{}

func (codes) Exchange(_ context.Context, code string) (auth.Identity, error) {
	return auth.Identity{Platform: "bench", AppID: "bench", Subject: code}, nil
}

// seedOurs fills the tables directly: through the service, a hundred thousand records take a
// minute.
func seedOurs(ctx context.Context, url string) world {
	var w world
	store := harness.Must(authstore.Open(ctx, url))
	defer store.Close()
	signIn := harness.Must(auth.New(auth.Config{Store: store, Exchanger: codes{}}))
	var ids []uuid.UUID
	for i := range teachers {
		login := harness.Must(signIn.Login(ctx, fmt.Sprint(i)))
		w.Tokens = append(w.Tokens, login.Token)
		ids = append(ids, login.UserID)
	}
	target := harness.Must(db.Open(url))
	defer target.Close()
	tx := harness.Must(target.W.BeginTx(ctx, nil))
	defer tx.Rollback()
	now := db.Time(time.Now())
	for _, teacher := range ids {
		profiles := seedProfiles(ctx, tx, teacher, now)
		w.Profiles = append(w.Profiles, profiles)
		w.Lessons = append(w.Lessons, seedLesson(ctx, tx, teacher, profiles[0], now))
	}
	insert := harness.Must(tx.PrepareContext(ctx, `
		insert into feedback_records
			(record_id, teacher_id, profile_id, feedback_date, content, content_folded, academic_year, term,
				session_id, created_at, version)
		values ($1, $2, $3, $4, $5, $5, 2026, '', null, $6, 1)`))
	for i := range recordCount {
		teacher := i % teachers
		profile := w.Profiles[teacher][i/teachers%profilesOf]
		harness.Must(insert.ExecContext(ctx, newID(), ids[teacher], profile, date(i), content(i), now))
	}
	harness.Check(tx.Commit())
	analyze(ctx, target)
	return w
}

// analyze updates the statistics of PostgreSQL's query planner, as autovacuum does some time after
// the rows are inserted. Nothing does so in our SQLite files; PocketBase does, and has them here.
func analyze(ctx context.Context, store *db.DB) {
	if store.Engine == db.Postgres {
		harness.Must(store.W.ExecContext(ctx, "vacuum analyze"))
	}
}

func seedProfiles(ctx context.Context, tx *sql.Tx, teacher uuid.UUID, now db.Time) []string {
	var profiles []string
	for i := range profilesOf {
		id := newID()
		name := fmt.Sprintf("student %d", i)
		harness.Must(tx.ExecContext(ctx, `
			insert into feedback_profiles (profile_id, teacher_id, name, name_folded, grade, subject, academic_year,
				term, guardian_title, start_time, end_time, created_at, updated_at)
			values ($1, $2, $3, $3, '3', 'Art', 2026, 'spring', 'mother', '09:00', '10:30', $4, $4)`,
			id, teacher, name, now))
		profiles = append(profiles, id)
	}
	return profiles
}

func seedLesson(ctx context.Context, tx *sql.Tx, teacher uuid.UUID, profile string, now db.Time) string {
	session, lesson := newID(), newID()
	harness.Must(tx.ExecContext(ctx, `
		insert into feedback_sessions (session_id, teacher_id, profile_id, state, feedback_date, feedback_text,
			generated_text, version, revision, created_at, updated_at)
		values ($1, $2, $3, 'active', '2026-05-31', '', '', 1, 1, $4, $4)`,
		session, teacher, profile, now))
	harness.Must(tx.ExecContext(ctx, `
		insert into feedback_lessons (lesson_id, session_id, teacher_id, number, state, applied, started_at, revision)
		values ($1, $2, $3, 1, 'recording', $4, $5, 1)`, lesson, session, teacher, false, now))
	return lesson
}
