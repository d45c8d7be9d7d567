package e2e

import (
	"fmt"
	"os"
	"strings"
	"sync"
)

// told is everything that must stay secret, and every log that there is.
var told struct {
	sync.Mutex
	secrets []string
	logs    map[string][]*buffer // by program
}

// secret remembers a secret and returns it.
func secret(s string) string {
	told.Lock()
	defer told.Unlock()
	told.secrets = append(told.secrets, s)
	return s
}

// keepLog makes a program's log part of the search in the end.
func keepLog(program string, log *buffer) {
	told.Lock()
	defer told.Unlock()
	if told.logs == nil {
		told.logs = map[string][]*buffer{}
	}
	told.logs[program] = append(told.logs[program], log)
}

// searchLogs looks for every secret in every log and tells whether none is there.
func searchLogs() bool {
	told.Lock()
	defer told.Unlock()
	clean, bytes, count := true, 0, 0
	for program, logs := range told.logs {
		for _, log := range logs {
			text := log.String()
			bytes += len(text)
			count++
			for _, s := range told.secrets {
				if i := strings.Index(text, s); i >= 0 {
					clean = false
					line := text[strings.LastIndexByte(text[:i], '\n')+1:]
					line, _, _ = strings.Cut(line, "\n")
					fmt.Fprintf(os.Stdout, "FAIL: the log of %s holds a secret: %s\n", program, line)
				}
			}
		}
	}
	fmt.Fprintf(os.Stdout, "faults: %d secrets looked for in %d logs, %d kB\n", len(told.secrets), count, bytes>>10)
	return clean
}
