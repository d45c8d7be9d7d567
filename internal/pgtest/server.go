package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/internal/freeport"
)

var errMissing = errors.New("PostgreSQL's programs (initdb, postgres) were not found: " +
	"run `apt-get install postgresql` on Debian")

// Options configures [Start].
type Options struct {
	// Durable makes the server flush commits to disk, as in production; the data is then in the
	// ordinary temporary directory instead of memory.
	Durable bool

	// TCP makes the server also listen on a port of 127.0.0.1.
	TCP bool

	// Settings are added to the configuration.
	Settings map[string]string
}

// Server is a running PostgreSQL.
type Server struct {
	base string // address of its database postgres
	addr string
	dir  string // holds the data, the socket and the log
	args []string
	bin  string
	cred *credential // nil: ours

	// stop is the standard input of the server's supervisor, which stops the server when it is
	// closed, as it is when this process ends in any way.
	stop io.WriteCloser
	done chan struct{}
}

// URL returns the address of the server's database "postgres": by TCP if [Options] has it, else by
// the socket.
func (s *Server) URL() string { return s.base }

// Addr returns host:port if [Options] has TCP.
func (s *Server) Addr() string { return s.addr }

// Kill ends the server like a crash ("immediate" mode: nothing is finished or flushed), and waits
// for its end.
func (s *Server) Kill() {
	io.WriteString(s.stop, "keep\n")
	s.stop.Close()
	<-s.done
}

// Restart starts the server again after [Server.Kill], on the same address, and waits until it
// accepts connections.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	if err := s.run(); err != nil {
		t.Fatal("restart PostgreSQL: ", err)
	}
}

func (s *Server) remove() {
	s.stop.Close()
	<-s.done
	os.RemoveAll(s.dir)
}

func start(o Options) (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin}
	if s.cred, err = serverUser(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp(baseDir(o), "lessonkit-pg-"); err != nil {
		return nil, err
	}
	if s.cred != nil {
		if err := os.Chown(s.dir, s.cred.uid, s.cred.gid); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(filepath.Join(bin, "initdb"), "--pgdata="+s.data(),
		"--username=postgres", "--auth=trust", "--no-sync", "--locale=C", "--encoding=UTF8")
	s.prepare(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		os.RemoveAll(s.dir)
		return nil, fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, out)
	}
	if s.args, err = s.settings(o); err != nil {
		return nil, err
	}
	if err := s.run(); err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) settings(o Options) ([]string, error) {
	settings := map[string]string{
		"unix_socket_directories": s.dir,
		"listen_addresses":        "",
		"jit":                     "off",
		"max_connections":         "200",
		"timezone":                "UTC",
	}
	if !o.Durable {
		for _, k := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
			settings[k] = "off"
		}
	}
	s.base = "postgres://postgres@/postgres?sslmode=disable&host=" + url.QueryEscape(s.dir)
	if o.TCP {
		var err error
		if s.addr, err = freeport.Addr(); err != nil {
			return nil, err
		}
		_, port, _ := net.SplitHostPort(s.addr)
		settings["listen_addresses"], settings["port"] = "127.0.0.1", port
		s.base = "postgres://postgres@" + s.addr + "/postgres?sslmode=disable"
	}
	maps.Copy(settings, o.Settings)
	var args []string
	for k, v := range settings {
		args = append(args, "-c", k+"="+v)
	}
	return args, nil
}

// supervisor runs the server, and stops it at the end of standard input, which comes when the test
// process ends in any way. The word "keep" leaves the data in place.
const supervisor = `exec 3<&0
signal=$1 dir=$2; shift 2
"$@" 3<&- </dev/null >>"$dir/log" 2>&1 &
pid=$!
(
	read -r word <&3
	kill -$signal $pid 2>/dev/null
	[ "$word" = keep ] && exit
	while kill -0 $pid 2>/dev/null; do sleep 0.1; done
	rm -rf "$dir"
) &
wait $pid
`

func (s *Server) run() error {
	return s.supervise("QUIT", filepath.Join(s.bin, "postgres"), append([]string{"-D", s.data()}, s.args...)...)
}

// supervise starts a program, which a signal stops when the test process ends, and waits until
// s.base answers.
func (s *Server) supervise(signal, program string, args ...string) error {
	args = append([]string{"-c", supervisor, "supervise", signal, s.dir, program}, args...)
	cmd := exec.Command("/bin/sh", args...)
	s.prepare(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.stop, s.done = stdin, make(chan struct{})
	go func() {
		cmd.Wait()
		close(s.done)
	}()
	return s.awaitReady()
}

func (s *Server) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.base)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.done:
			return fmt.Errorf("server ended: %s", s.log())
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// exec executes a statement, or ends the test if that fails or takes longer than a minute.
func (s *Server) exec(t testing.TB, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.base)
	if err == nil {
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, statement)
	}
	if err != nil {
		t.Fatalf("PostgreSQL: %v\n%s", err, s.log())
	}
}

func (s *Server) log() string {
	log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return string(log)
}

// prepare makes cmd run outside of our process group, so that an interrupt at the terminal does not
// reach it, and for root under the server's own user.
func (s *Server) prepare(cmd *exec.Cmd) {
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	cmd.SysProcAttr = processAttributes(s.cred)
}

// programs returns the directory of initdb and postgres: that on the path, else the newest version
// where Debian installs them.
func programs() (string, error) {
	candidates, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.SortFunc(candidates, func(a, b string) int { return version(b) - version(a) })
	if path, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			candidates = slices.Insert(candidates, 0, filepath.Dir(real))
		}
	}
	for _, dir := range candidates {
		if _, err := os.Stat(filepath.Join(dir, "postgres")); err == nil {
			return dir, nil
		}
	}
	return "", errMissing
}

func version(bin string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	return n
}

type credential struct{ uid, gid int }

// serverUser returns the user for the server if we are root, as which PostgreSQL does not run.
func serverUser() (*credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, fmt.Errorf("running as root: %w", err)
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	return &credential{uid: uid, gid: gid}, errors.Join(err1, err2)
}

// baseDir returns the directory for a server's data: in memory unless it must be durable, if there
// is enough of it. Containers often have 64 MB.
func baseDir(o Options) string {
	const shm, enough = "/dev/shm", 256 << 20
	if !o.Durable && freeBytes(shm) > enough {
		return shm
	}
	return "" // the ordinary temporary directory
}
