// Package s3test starts S3-compatible servers for tests: versitygw, which keeps objects as files in
// a directory. Without that program, tests are skipped.
package s3test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"lessonkit.example/internal/freeport"
)

// The credentials of every server.
const (
	AccessKeyID     = "tester"
	SecretAccessKey = "tester-secret"
)

// Server is a running server.
type Server struct {
	Endpoint string // http://127.0.0.1:port
	dir      string
}

// Start starts a server, which is stopped and removed at the end of the test.
func Start(t testing.TB) *Server {
	t.Helper()
	program, err := find()
	if err != nil {
		t.Skip("versitygw was not found: run `go install github.com/versity/versitygw/cmd/versitygw@v1.8.0`")
	}
	address, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Endpoint: "http://" + address, dir: t.TempDir()}
	cmd := exec.Command(program, "--port", address, "--access", AccessKeyID, "--secret", SecretAccessKey, "--quiet",
		"posix", "--sidecar", t.TempDir(), s.dir) // the file system need not have extended attributes
	cmd.Env = []string{"HOME=" + t.TempDir()}
	log, err := os.Create(filepath.Join(t.TempDir(), "versitygw.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			return s
		}
		select {
		case <-ctx.Done():
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("versitygw does not serve: %v\n%s", err, text)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// find returns the path of the program: on PATH, or where `go install` puts it.
func find() (string, error) {
	if path, err := exec.LookPath("versitygw"); err == nil {
		return path, nil
	}
	out, err := exec.Command("go", "env", "GOPATH").Output()
	if err != nil {
		return "", err
	}
	return exec.LookPath(filepath.Join(string(out[:len(out)-1]), "bin", "versitygw"))
}

// Bucket creates a bucket and returns the directory of its objects.
func (s *Server) Bucket(t testing.TB, name string) (dir string) {
	t.Helper()
	dir = filepath.Join(s.dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// URL returns the s3:// address of a bucket and a prefix at an endpoint, such as a server's.
func URL(endpoint, bucketAndPrefix string) string {
	return fmt.Sprintf("s3://%s?endpoint=%s&region=us-east-1", bucketAndPrefix, url.QueryEscape(endpoint))
}
