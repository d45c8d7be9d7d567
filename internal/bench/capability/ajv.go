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
func startNode(h *harness.Harness, schema []byte, files [][]byte) func() float64 {
	texts := make([]string, len(files))
	for i, f := range files {
		texts[i] = string(f)
	}
	list := harness.Must(json.Marshal(texts))
	dir := h.TB.TempDir()
	for name, text := range map[string][]byte{"schema.json": schema, "files.json": list, "run.js": []byte(script),
		"package.json": []byte(`{"private": true}`)} {
		harness.Check(os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	install := exec.Command("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "ajv@"+ajvVersion)
	install.Dir = dir
	if text, err := install.CombinedOutput(); err != nil {
		harness.Check(fmt.Errorf("npm install: %w: %s", err, strings.TrimSpace(string(text))))
	}
	node := exec.Command("node", "run.js")
	node.Dir, node.Stderr = dir, h.Log
	in := harness.Must(node.StdinPipe())
	out := harness.Must(node.StdoutPipe())
	harness.Check(node.Start())
	h.TB.Cleanup(func() {
		_ = in.Close() // then it ends
		_ = node.Wait()
	})
	lines := bufio.NewScanner(out)
	return func() float64 {
		harness.Must(io.WriteString(in, "\n"))
		if !lines.Scan() {
			harness.Check(errors.New("node ended"))
		}
		return harness.Must(strconv.ParseFloat(lines.Text(), 64))
	}
}
