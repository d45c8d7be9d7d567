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

// startNode installs ajv into a temporary folder, starts node there, and returns a measure of the
// files that it reads and validates in a second.
func startNode(h *harness.Harness, schema []byte, files [][]byte) (func() (float64, error), error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return nil, errors.New("npm is not installed")
	}
	texts := make([]string, len(files))
	for i, f := range files {
		texts[i] = string(f)
	}
	list, err := json.Marshal(texts)
	if err != nil {
		return nil, err
	}
	dir := h.TB.TempDir()
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
	node := exec.Command("node", "run.js")
	node.Dir, node.Stderr = dir, h.Log
	in, err := node.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := node.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := node.Start(); err != nil {
		return nil, err
	}
	h.TB.Cleanup(func() {
		_ = in.Close() // then it ends
		_ = node.Wait()
	})
	lines := bufio.NewScanner(out)
	return func() (float64, error) {
		if _, err := io.WriteString(in, "\n"); err != nil {
			return 0, err
		}
		if !lines.Scan() {
			return 0, errors.New("node ended")
		}
		return strconv.ParseFloat(lines.Text(), 64)
	}, nil
}
