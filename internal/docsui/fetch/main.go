// Command fetch puts the script of the reference page into dist/: it has npm
// fetch the pinned package, checks both hashes, and compresses the script. It is
// run by "go generate ./internal/docsui" and does nothing when the script is there.
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
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"lessonkit.example/internal/docsui"
)

func main() {
	if err := run(context.Background(), "dist"); err != nil {
		fmt.Fprintln(os.Stderr, "fetch the reference page's script:", err)
		fmt.Fprintln(os.Stderr, "without it the reference page works without script; nothing else needs it")
		os.Exit(1)
	}
}

// run fetches the script into the folder dist.
func run(ctx context.Context, dist string) error {
	target := filepath.Join(dist, docsui.EmbeddedName)
	if there(target) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "docsui-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	archive, err := pack(ctx, dir)
	if err != nil {
		return err
	}
	script, err := extract(archive)
	if err != nil {
		return err
	}
	if err := remove(dist); err != nil {
		return err
	}
	return write(target, script)
}

// there reports whether target holds the pinned script already.
func there(target string) bool {
	f, err := os.Open(target)
	if err != nil {
		return false
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return false
	}
	script, err := io.ReadAll(z)
	return err == nil && integrity(script) == docsui.ScriptIntegrity
}

// pack has npm put the package's archive into dir, and checks its hash.
func pack(ctx context.Context, dir string) ([]byte, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return nil, errors.New("npm is not installed")
	}
	cmd := exec.CommandContext(ctx, npm, "pack", docsui.Package+"@"+docsui.Version, "--ignore-scripts", "--silent", "--pack-destination", dir)
	cmd.Dir = dir // no project's configuration
	cmd.WaitDelay = 5 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm pack: %w\n%s", err, bytes.TrimSpace(out))
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(files) != 1 {
		return nil, fmt.Errorf("npm pack left %d archives, not 1", len(files))
	}
	archive, err := os.ReadFile(files[0])
	if err != nil {
		return nil, err
	}
	if got := integrity(archive); got != docsui.PackageIntegrity {
		return nil, fmt.Errorf("the package has the hash %s, not the pinned %s", got, docsui.PackageIntegrity)
	}
	return archive, nil
}

// extract takes the script out of the archive, and checks its hash.
func extract(archive []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("the package holds no %s", docsui.ScriptInPackage)
		}
		if err != nil {
			return nil, err
		}
		if h.Name != docsui.ScriptInPackage {
			continue
		}
		script, err := io.ReadAll(t)
		if err != nil {
			return nil, err
		}
		if got := integrity(script); got != docsui.ScriptIntegrity {
			return nil, fmt.Errorf("the script has the hash %s, not the pinned %s", got, docsui.ScriptIntegrity)
		}
		return script, nil
	}
}

// integrity is the hash of data in the form of npm and of HTML.
func integrity(data []byte) string {
	sum := sha512.Sum512(data)
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

// remove deletes scripts of other versions, which the build would embed too.
func remove(dist string) error {
	old, err := filepath.Glob(filepath.Join(dist, "*.js.gz*"))
	if err != nil {
		return err
	}
	for _, f := range old {
		if err := os.Remove(f); err != nil {
			return err
		}
	}
	return nil
}

// write puts the script, compressed, at target: whole or not at all.
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
	temp := target + ".part"
	if err := os.WriteFile(temp, b.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(temp, target)
}
