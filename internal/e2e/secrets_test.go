//go:build linux

package e2e

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"lessonkit.example/internal/logtest"
)

// searched holds everything that must stay secret, and all logs.
var searched struct {
	sync.Mutex
	secrets []string
	logs    map[string][]*logtest.Buffer // by program
}

// secret adds a secret to the search and returns it.
func secret(s string) string {
	searched.Lock()
	defer searched.Unlock()
	searched.secrets = append(searched.secrets, s)
	return s
}

// keepLog adds a program's log to the search.
func keepLog(program string, log *logtest.Buffer) {
	searched.Lock()
	defer searched.Unlock()
	if searched.logs == nil {
		searched.logs = map[string][]*logtest.Buffer{}
	}
	searched.logs[program] = append(searched.logs[program], log)
}

// searchLogs searches every log for every secret and reports whether none was found.
func searchLogs() bool {
	searched.Lock()
	defer searched.Unlock()
	clean, bytes, count := true, 0, 0
	for program, logs := range searched.logs {
		for _, log := range logs {
			text := log.String()
			bytes += len(text)
			count++
			for _, s := range searched.secrets {
				if i := strings.Index(text, s); i >= 0 {
					clean = false
					line := text[strings.LastIndexByte(text[:i], '\n')+1:]
					line, _, _ = strings.Cut(line, "\n")
					fmt.Fprintf(os.Stdout, "FAIL: the log of %s contains a secret: %s\n", program, line)
				}
			}
		}
	}
	fmt.Fprintf(os.Stdout, "faults: searched %d logs (%d kB) for %d secrets\n", count, bytes>>10,
		len(searched.secrets))
	return clean
}
