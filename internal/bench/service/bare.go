package service

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/internal/bench/harness"
	"lessonkit.example/internal/db"
)

// bare is the floor: net/http, encoding/json and the statements that ours executes, including the
// token look-up, without any validation, log or metric. Uploads are copied, hashed, synced and
// renamed.
type bare struct {
	db  *sql.DB
	dir string
}

func serveBare(ctx context.Context, s spec) {
	b := &bare{dir: s.Dir}
	if s.URL != "" {
		pool := harness.Must(pgxpool.New(ctx, s.URL))
		defer pool.Close()
		b.db = stdlib.OpenDBFromPool(pool)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/profiles/{id}", b.profile)
	mux.HandleFunc("POST /api/v1/feedback-records", b.createRecord)
	mux.HandleFunc("POST /upload", b.upload)
	l := harness.Must(net.Listen("tcp", s.Addr))
	harness.Report(world{})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		harness.Check(err)
	}
}

// teacher looks up the token, or answers 401.
func (b *bare) teacher(w http.ResponseWriter, r *http.Request) (id string, ok bool) {
	hash := sha256.Sum256([]byte(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))
	var created, expires time.Time
	err := b.db.QueryRowContext(r.Context(), `
		select user_id, created_at, expires_at from auth_sessions where token_hash = $1`, hash[:]).
		Scan(&id, &created, &expires)
	if err != nil || expires.Before(time.Now()) {
		w.WriteHeader(http.StatusUnauthorized)
		return "", false
	}
	return id, true
}

func answer(w http.ResponseWriter, status int, v any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if v == nil {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (b *bare) profile(w http.ResponseWriter, r *http.Request) {
	teacher, ok := b.teacher(w, r)
	if !ok {
		return
	}
	var p feedbackclient.Profile
	err := b.db.QueryRowContext(r.Context(), `
		select profile_id, name, grade, subject, academic_year, term, guardian_title,
			start_time, end_time, created_at, updated_at
		from feedback_profiles where profile_id = $1 and teacher_id = $2`, r.PathValue("id"), teacher).
		Scan(&p.ID, &p.Name, &p.Grade, &p.Subject, &p.AcademicYear, &p.Term, &p.GuardianTitle,
			(*db.TimeOfDay)(&p.StartTime), (*db.TimeOfDay)(&p.EndTime), &p.CreatedAt, &p.UpdatedAt)
	answer(w, http.StatusOK, p, err)
}

type bareRecord struct {
	ID        string    `json:"record_id"`
	ProfileID string    `json:"profile_id"`
	Date      db.Date   `json:"feedback_date"`
	Content   string    `json:"content"`
	SessionID *string   `json:"feedback_session_id"`
	CreatedAt time.Time `json:"created_at"`
}

func (b *bare) createRecord(w http.ResponseWriter, r *http.Request) {
	teacher, ok := b.teacher(w, r)
	if !ok {
		return
	}
	var f bareRecord
	if err := json.NewDecoder(r.Body).Decode(&f); err != nil {
		answer(w, 0, nil, err)
		return
	}
	f.ID, f.CreatedAt = newID(), time.Now()
	_, err := b.db.ExecContext(r.Context(), `
		insert into feedback_records
			(record_id, teacher_id, profile_id, feedback_date, content, content_folded, academic_year, term,
				session_id, created_at, version)
		select $1, teacher_id, profile_id, $4, $5, $5, academic_year, term, $6, $7, 1 from feedback_profiles
		where profile_id = $2 and teacher_id = $3`,
		f.ID, f.ProfileID, teacher, f.Date, f.Content, f.SessionID, f.CreatedAt)
	answer(w, http.StatusCreated, f, err)
}

// upload writes, hashes, syncs and renames.
func (b *bare) upload(w http.ResponseWriter, r *http.Request) {
	answer(w, http.StatusAccepted, nil, b.keep(r.Body))
}

func (b *bare) keep(body io.Reader) error {
	f, err := os.CreateTemp(b.dir, "upload")
	if err != nil {
		return err
	}
	defer f.Close()
	hash, buffer := sha256.New(), make([]byte, 256<<10)
	for err == nil {
		n := 0
		n, err = io.ReadFull(body, buffer)
		hash.Write(buffer[:n])
		if _, err := f.Write(buffer[:n]); err != nil {
			return err
		}
	}
	if err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(b.dir, hex.EncodeToString(hash.Sum(nil))+".mp3"))
}
