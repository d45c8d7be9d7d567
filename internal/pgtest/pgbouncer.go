package pgtest

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"lessonkit.example/internal/freeport"
)

// PgBouncer starts a pgbouncer in transaction mode before the server, until the end of the test,
// and returns the address of the database that database is the address of through it. It skips the
// test where pgbouncer is not installed.
func (s *Server) PgBouncer(t testing.TB, database string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer"
	}
	if _, err := os.Stat(program); err != nil {
		t.Skip("pgbouncer is not installed")
	}
	u, err1 := url.Parse(database)
	address, err2 := freeport.Addr()
	dir, err3 := os.MkdirTemp("", "lessonkit-pgbouncer-")
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(address)
	config := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf("[databases]\n* = host=%s user=%s\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\n"+
		"unix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 4\nmax_client_conn = 500\n",
		s.dir, u.User.Username(), port)
	if err := errors.Join(os.WriteFile(config, []byte(text), 0o644), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	bouncer := &Server{dir: dir, cred: s.cred, base: "postgres://" + address + u.Path + "?sslmode=disable"}
	if s.cred != nil {
		if err := os.Chown(dir, s.cred.uid, s.cred.gid); err != nil {
			t.Fatal(err)
		}
	}
	if err := bouncer.supervise("TERM", program, config); err != nil {
		t.Fatal("start pgbouncer: ", err)
	}
	t.Cleanup(bouncer.remove)
	return bouncer.base
}
