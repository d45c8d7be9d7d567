// Package auth measures the authentication of requests by session tokens against the bare indexed
// query that every such check needs, on the same database and driver, with the hash of the token
// computed beforehand, and under a context that can be canceled, as in a handler.
package auth

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/stdlib"
	"golang.org/x/sync/errgroup"

	signin "lessonkit.example/auth"
	"lessonkit.example/auth/sqlstore"
	"lessonkit.example/internal/bench/harness"
	"lessonkit.example/internal/db"
	"lessonkit.example/internal/pgtest"
)

const (
	sessions = 10_000
	// turns is how often each side of a pair runs, turn is how long.
	turns = 24
	turn  = 50 * time.Millisecond
	// must is the required share of the bare query's rate.
	must = 0.8
)

// Run measures both engines, with one client and with several.
func Run(h *harness.Harness) {
	lite := harness.Must(db.OpenSQLite(filepath.Join(h.TB.TempDir(), "auth.db"), nil))
	defer lite.Close()
	// The bare query on SQLite is prepared beforehand: the measurement does not include its
	// parsing.
	bareLite := newSide(h.Log, "sqlite", sqlstore.NewSQLite(lite.W, lite.R), lite.R, true)
	pool := pgtest.Pool(&h.TB)
	pg := stdlib.OpenDBFromPool(pool)
	barePG := newSide(h.Log, "postgres", sqlstore.NewPostgres(pg), pg, false)
	for _, s := range []*side{bareLite, barePG} {
		for _, clients := range []int{1, 8} {
			row := harness.Row{
				Name: fmt.Sprintf("authenticate, %s, %d clients", s.engine, clients), Unit: "1/s",
				PeerName: "bare query", Must: must,
			}
			ours := func() (float64, time.Duration) { return s.run(clients, s.authenticate) }
			bare := func() (float64, time.Duration) { return s.run(clients, s.bare) }
			h.AlternateTurns(row, turns, ours, bare)
		}
	}
}

// side is one engine with sessions in it.
type side struct {
	engine  string
	service *signin.Service
	db      *sql.DB
	stmt    *sql.Stmt // nil if the driver caches prepared statements
	tokens  []string
	hashes  [][]byte
}

const bareQuery = `select user_id, created_at, expires_at from auth_sessions where token_hash = $1`

func newSide(log io.Writer, engine string, store *sqlstore.Store, db *sql.DB, prepare bool) *side {
	ctx := context.Background()
	harness.Check(store.Migrate(ctx))
	service := harness.Must(signin.New(signin.Config{Store: store, Exchanger: anybody{}}))
	s := &side{
		engine: engine, service: service, db: db,
		tokens: make([]string, sessions), hashes: make([][]byte, sessions),
	}
	var g errgroup.Group
	g.SetLimit(8)
	for i := range sessions {
		g.Go(func() error {
			login, err := service.Login(ctx, fmt.Sprintf("user-%d/%d", i%1000, i))
			hash := sha256.Sum256([]byte(login.Token))
			s.tokens[i], s.hashes[i] = login.Token, hash[:]
			return err
		})
	}
	harness.Check(g.Wait())
	if engine == "postgres" {
		harness.Must(db.ExecContext(ctx, "analyze auth_sessions"))
	}
	if prepare {
		s.stmt = harness.Must(db.PrepareContext(ctx, bareQuery))
	}
	fmt.Fprintf(log, "%s: %d sessions\n", engine, len(s.tokens))
	return s
}

// anybody accepts every code; the user is the part before the slash.
type anybody struct{}

func (anybody) Exchange(_ context.Context, code string) (signin.Identity, error) {
	user, _, _ := strings.Cut(code, "/")
	return signin.Identity{Platform: "bench", Subject: user}, nil
}

func (s *side) authenticate(ctx context.Context, i int) error {
	p, err := s.service.Authenticate(ctx, s.tokens[i])
	if err == nil && p.UserID == uuid.Nil {
		return fmt.Errorf("session %d has no user", i)
	}
	return err
}

func (s *side) bare(ctx context.Context, i int) error {
	var row *sql.Row
	if s.stmt != nil {
		row = s.stmt.QueryRowContext(ctx, s.hashes[i])
	} else {
		row = s.db.QueryRowContext(ctx, bareQuery, s.hashes[i])
	}
	var user uuid.UUID
	if s.engine == "sqlite" { // times are text there
		var created, expires string
		return row.Scan(&user, &created, &expires)
	}
	var created, expires time.Time
	return row.Scan(&user, &created, &expires)
}

// call is one operation on the i-th session.
type call func(ctx context.Context, i int) error

// run makes calls for one turn. Each client has a context that can be canceled, as requests have.
func (s *side) run(clients int, f call) (calls float64, took time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	counts := make([]int, clients)
	var g errgroup.Group
	start := time.Now()
	for c := range clients {
		g.Go(func() error {
			random := rand.New(rand.NewPCG(uint64(c), uint64(start.UnixNano())))
			for ; time.Since(start) < turn; counts[c]++ {
				if err := f(ctx, random.IntN(len(s.hashes))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	harness.Check(g.Wait())
	took = time.Since(start)
	for _, n := range counts {
		calls += float64(n)
	}
	return calls, took
}
