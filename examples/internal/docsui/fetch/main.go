// Command fetch puts the script of Scalar into the folder dist: it lets npm fetch the pinned
// package, checks its hash and compresses the script. It does nothing if the script is there.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"lessonkit.example/examples/internal/docsui"
)

func main() {
	if err := fetch("dist"); err != nil {
		log.Fatalf("fetch the script of Scalar: %v\nWithout it the reference is Swagger UI.", err)
	}
}

// fetch puts the script into the folder dist, in place of those of other versions.
func fetch(dist string) error {
	target := filepath.Join(dist, docsui.EmbeddedName)
	if _, err := os.Stat(target); err == nil {
		return nil
	}
	archive, err := pack()
	if err != nil {
		return err
	}
	script, err := extract(archive)
	if err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dist, "*.js.gz*"))
	if err != nil {
		return err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return write(target, script)
}

// pack returns the package's archive, which npm fetches.
func pack() ([]byte, error) {
	dir, err := os.MkdirTemp("", "docsui-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "pack", docsui.Package+"@"+docsui.Version, "--ignore-scripts", "--silent")
	cmd.Dir = dir // away from the npm configuration of any project
	cmd.WaitDelay = 5 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm pack: %w\n%s", err, bytes.TrimSpace(out))
	}
	archives, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(archives) != 1 {
		return nil, fmt.Errorf("npm pack wrote %d archives, want 1", len(archives))
	}
	return os.ReadFile(archives[0])
}

// extract checks the hashes of the archive and of the script in it, and returns the script.
func extract(archive []byte) ([]byte, error) {
	if err := check("package", archive, docsui.PackageIntegrity); err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	files := tar.NewReader(z)
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("the package does not contain %s", docsui.ScriptInPackage)
		}
		if err != nil {
			return nil, err
		}
		if h.Name == docsui.ScriptInPackage {
			break
		}
	}
	script, err := io.ReadAll(files)
	if err != nil {
		return nil, err
	}
	return script, check("script", script, docsui.ScriptIntegrity)
}

// check compares the hash of data with the one in the form of npm and HTML.
func check(what string, data []byte, want string) error {
	sum := sha512.Sum512(data)
	if got := "sha512-" + base64.StdEncoding.EncodeToString(sum[:]); got != want {
		return fmt.Errorf("the %s has the hash %s, want %s", what, got, want)
	}
	return nil
}

// write writes the compressed script to target, or nothing.
func write(target string, script []byte) error {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(script); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	partial := target + ".part"
	if err := os.WriteFile(partial, b.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(partial, target)
}
