package service

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"lessonkit.example/internal/bench/harness"
	"lessonkit.example/internal/freeport"
)

// spec configures the server of a child process.
type spec struct {
	Side string // ours, pocketbase, bare, or ours in the role api or worker
	Dir  string // of files, and of the embedded database
	URL  string // of the database
	Addr string // to listen on
	Full bool   // pocketbase: synchronous=FULL instead of its NORMAL

	Audio, Recogniser string // of api and worker: the directory of the recordings, an address
}

// world describes the contents of a server's database, which are equal on all sides.
type world struct {
	Tokens   []string   // of each teacher
	Owners   []string   // the teachers' identifiers, which requests to PocketBase contain
	Profiles [][]string // of each teacher
	Lessons  []string   // of each teacher, still recording
}

// The size of the database.
const (
	teachers    = 50
	profilesOf  = 20
	recordCount = 100_000
)

// child serves until the parent stops it. Its report is its world, when it is listening.
func child(s spec) {
	ctx := harness.UntilStopped()
	switch s.Side {
	case "ours":
		serveOurs(ctx, s)
	case "pocketbase":
		servePocketBase(ctx, s)
	case "bare":
		serveBare(ctx, s)
	case "api", "worker":
		serveRole(ctx, s)
	}
}

type process struct {
	*harness.Child
	world
	spec spec
}

// start starts a server with a new directory, and waits until it is listening.
func (b *bench) start(s spec) *process {
	s.Dir = b.TB.TempDir()
	if s.Side == "ours" && s.URL == "" {
		s.URL = "sqlite:" + filepath.Join(s.Dir, "feedback.db")
	}
	s.Addr = harness.Must(freeport.Addr())
	fmt.Fprintf(b.Log, "starting %s\n", s.Side)
	c := b.StartChild(s)
	p := &process{Child: c, spec: s}
	if err := c.Next(&p.world); err != nil {
		harness.Check(fmt.Errorf("%s did not start: %w", s.Side, err))
	}
	return p
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// content returns a text of 200 to 1400 bytes, different for each i.
func content(i int) string {
	const sentence = "Ming mixed her own greens today and took great care with the reflections on the water. "
	n := 200 + (i*7919)%1200
	text := fmt.Sprintf("%d. ", i) + strings.Repeat(sentence, n/len(sentence)+1)
	return text[:n]
}

// date returns a date within two years.
func date(i int) string { return fmt.Sprintf("%d-%02d-%02d", 2025+i%2, 1+i%12, 1+i%28) }
