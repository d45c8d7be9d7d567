package service

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/auth"
	authstore "lessonkit.example/auth/sqlstore"
	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/internal/sqldb"
)

// serveOurs serves with the real server: every check, metric and header that
// it has. Only its log is off, as the peer's is. It seeds an empty database.
func serveOurs(ctx context.Context, s spec) error {
	environment := map[string]string{"DATABASE_URL": s.URL, "AUDIO_STORAGE_DIR": filepath.Join(s.Dir, "audio"), "HTTP_ADDR": s.Addr}
	config, err := server.ParseConfig(environment)
	if err != nil {
		return err
	}
	srv, err := server.New(ctx, config, server.Options{Role: server.RoleAPI})
	if err != nil {
		return err
	}
	defer srv.Close()
	if err := srv.Migrate(ctx); err != nil {
		return err
	}
	w, err := seedOurs(ctx, s.URL)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", s.Addr)
	if err != nil {
		return err
	}
	if err := ready(w); err != nil {
		return err
	}
	return srv.Run(ctx, l)
}

// codes is a platform whose login codes are its users.
type codes struct{}

func (codes) Exchange(_ context.Context, code string) (auth.Identity, error) {
	return auth.Identity{Platform: "bench", AppID: "bench", Subject: code}, nil
}

// seedOurs fills the tables behind the service's back: a hundred thousand
// records through it would take a minute. Teachers and lessons are always new.
func seedOurs(ctx context.Context, url string) (world, error) {
	var w world
	store, err := authstore.Open(ctx, url)
	if err != nil {
		return w, err
	}
	defer store.Close()
	signIn, err := auth.New(auth.Config{Store: store, Exchanger: codes{}})
	if err != nil {
		return w, err
	}
	var ids []uuid.UUID
	for i := range teachers {
		login, err := signIn.Login(ctx, fmt.Sprint(i))
		if err != nil {
			return w, err
		}
		w.Tokens = append(w.Tokens, login.Token)
		ids = append(ids, login.TeacherID)
	}
	db, err := sqldb.Open(ctx, url)
	if err != nil {
		return w, err
	}
	defer db.Close()
	tx, err := db.W.BeginTx(ctx, nil)
	if err != nil {
		return w, err
	}
	defer tx.Rollback()
	now := sqldb.Time{Time: time.Now()}
	for _, teacher := range ids {
		profiles, err := seedProfiles(ctx, tx, teacher, now)
		if err != nil {
			return w, err
		}
		w.Profiles = append(w.Profiles, profiles)
		lesson, err := seedLesson(ctx, tx, teacher, profiles[0], now)
		if err != nil {
			return w, err
		}
		w.Lessons = append(w.Lessons, lesson)
	}
	var there int
	if err := tx.QueryRowContext(ctx, `select count(*) from feedback_records`).Scan(&there); err != nil {
		return w, err
	}
	if there == 0 {
		insert, err := tx.PrepareContext(ctx, `insert into feedback_records (record_id, teacher_id, profile_id, feedback_date, content, session_id, created_at)
			values ($1, $2, $3, $4, $5, null, $6)`)
		if err != nil {
			return w, err
		}
		for i := range recordCount {
			teacher := i % teachers
			if _, err := insert.ExecContext(ctx, newID(), ids[teacher], w.Profiles[teacher][i/teachers%profilesOf], date(i), content(i),
				sqldb.Time{Time: time.Now()}); err != nil {
				return w, err
			}
		}
	}
	if err := tx.Commit(); err != nil {
		return w, err
	}
	analyze := "analyze"
	if strings.HasPrefix(url, "postgres") {
		analyze = "vacuum analyze"
	}
	_, err = db.W.ExecContext(ctx, analyze)
	return w, err
}

func seedProfiles(ctx context.Context, tx *sql.Tx, teacher uuid.UUID, now sqldb.Time) ([]string, error) {
	profiles := make([]string, 0, profilesOf)
	rows, err := tx.QueryContext(ctx, `select profile_id from feedback_profiles where teacher_id = $1`, teacher)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		profiles = append(profiles, id)
	}
	if err := rows.Err(); err != nil || len(profiles) >= profilesOf {
		return profiles, err
	}
	for i := range profilesOf {
		id := newID()
		name := fmt.Sprintf("student %d", i)
		if _, err := tx.ExecContext(ctx, `insert into feedback_profiles (profile_id, teacher_id, name, name_folded, grade, subject, academic_year, term,
			guardian_title, start_time, end_time, created_at, updated_at) values ($1, $2, $3, $3, '3', 'Art', 2026, 'spring', 'mother', '09:00', '10:30', $4, $4)`,
			id, teacher, name, now); err != nil {
			return nil, err
		}
		profiles = append(profiles, id)
	}
	return profiles, nil
}

// seedLesson makes a lesson for uploads.
func seedLesson(ctx context.Context, tx *sql.Tx, teacher uuid.UUID, profile string, now sqldb.Time) (string, error) {
	session, lesson := newID(), newID()
	if _, err := tx.ExecContext(ctx, `insert into feedback_sessions (session_id, teacher_id, profile_id, state, feedback_date, feedback_text, generated_text,
		version, revision, created_at, updated_at) values ($1, $2, $3, 'completed', '2026-05-31', '', '', 1, 1, $4, $5)`,
		session, teacher, profile, now, now); err != nil {
		return "", err
	}
	_, err := tx.ExecContext(ctx, `insert into feedback_lessons (lesson_id, session_id, teacher_id, number, state, applied, started_at, revision)
		values ($1, $2, $3, 1, 'recording', $4, $5, 1)`, lesson, session, teacher, false, now)
	return lesson, err
}
