package capability

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"lessonkit.example/internal/bench/harness"
)

// ajvVersion is the one that the figures are quoted for.
const ajvVersion = "8.17.1"

// script compiles the schema once, then answers each line by the files that it parses and validates
// in a second of the processor's time.
const script = `
const fs = require("fs");
const Ajv = require("ajv");
const ajv = new Ajv({ strict: false, validateFormats: false });
const validate = ajv.compile(JSON.parse(fs.readFileSync("schema.json", "utf8")));
const files = JSON.parse(fs.readFileSync("files.json", "utf8"));
for (const f of files) validate(JSON.parse(f));
console.log("ready");
require("readline").createInterface({ input: process.stdin }).on("line", () => {
  const start = process.cpuUsage();
  let n = 0, valid = 0, spent = 0;
  while (spent < 1) {
    for (const f of files) { if (validate(JSON.parse(f))) valid++; n++; }
    const used = process.cpuUsage(start);
    spent = (used.user + used.system) / 1e6;
  }
  console.log(n / spent);
});
`

// node is a running node with a compiled schema.
type node struct {
	dir     string
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

// startNode installs ajv into a temporary folder and starts node there.
func startNode(h *harness.Harness, schema []byte, files [][]byte) (_ *node, err error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return nil, errors.New("npm is not installed")
	}
	dir, err := os.MkdirTemp("", "bench-ajv")
	if err != nil {
		return nil, err
	}
	n := &node{dir: dir}
	defer func() {
		if err != nil {
			n.stop()
		}
	}()
	texts := make([]string, len(files))
	for i, f := range files {
		texts[i] = string(f)
	}
	list, err := json.Marshal(texts)
	if err != nil {
		return nil, err
	}
	for name, text := range map[string][]byte{"schema.json": schema, "files.json": list, "run.js": []byte(script),
		"package.json": []byte(`{"private": true}`)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return nil, err
		}
	}
	install := exec.Command(npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "ajv@"+ajvVersion)
	install.Dir = dir
	if text, err := install.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm install: %w: %s", err, strings.TrimSpace(string(text)))
	}
	n.command = exec.Command("node", "run.js")
	n.command.Dir, n.command.Stderr = dir, h.Log
	if n.in, err = n.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := n.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	n.out = bufio.NewScanner(out)
	if err := n.command.Start(); err != nil {
		return nil, err
	}
	if !n.out.Scan() || n.out.Text() != "ready" {
		return nil, errors.New("node did not compile the schema")
	}
	return n, nil
}

func (n *node) measure() (float64, error) {
	if _, err := io.WriteString(n.in, "\n"); err != nil {
		return 0, err
	}
	if !n.out.Scan() {
		return 0, errors.New("node ended")
	}
	return strconv.ParseFloat(n.out.Text(), 64)
}

func (n *node) stop() {
	if n.in != nil {
		n.in.Close()
	}
	if n.command != nil && n.command.Process != nil {
		n.command.Process.Kill()
		_ = n.command.Wait()
	}
	os.RemoveAll(n.dir)
}
