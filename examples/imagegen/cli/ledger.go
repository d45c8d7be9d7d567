package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"lessonkit.example/imagegen"
)

// event is what a line of the ledger says about an entry of the batch.
type event string

const (
	eventSent   event = "sent"   // is about to be sent
	eventTask   event = "task"   // the service performs it as Task
	eventDone   event = "done"   // has Images; Error says whether some are missing
	eventFailed event = "failed" // without images: see Charged and Final
)

// record is a line of the ledger.
type record struct {
	Time  time.Time      `json:"time"`
	Entry string         `json:"entry"` // entry.digest
	Event event          `json:"event"`
	Name  string         `json:"name,omitempty"` // entry.file
	Line  string         `json:"line,omitempty"` // entry.text
	Model string         `json:"model,omitempty"`
	Size  imagegen.Ratio `json:"size,omitempty"`
	N     int            `json:"n"`               // images requested
	Key   string         `json:"key,omitempty"`   // Idempotency-Key, if it was sent
	Task  string         `json:"task,omitempty"`  // also of later events
	Error string         `json:"error,omitempty"` // of eventDone and eventFailed

	Images  []string        `json:"images,omitempty"` // paths
	Usage   json.RawMessage `json:"usage,omitempty"`
	Charged bool            `json:"charged,omitempty"` // perhaps, although it failed or is sent once more
	Again   bool            `json:"again,omitempty"`   // it failed, and the same may succeed later
	Final   bool            `json:"final,omitempty"`   // it was refused, and is not sent again
}

// ledger is the file of a batch. Its lines are only appended, each durable before what it announces
// is done, so that the process may be killed at any time.
type ledger struct {
	file  *os.File
	size  int64 // bytes of its complete lines
	lock  *flock.Flock
	last  map[string]record // by entry
	lines map[string]record // the last of each Line

	requested int // images, without those of requests that were certainly not charged
}

// openLedger opens the ledger of a directory for this process alone.
func openLedger(dir string) (*ledger, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	name := filepath.Join(dir, "ledger.jsonl")
	lock := flock.New(filepath.Join(dir, ".ledger.lock"))
	switch locked, err := lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("lock the ledger: %w", err)
	case !locked:
		return nil, fmt.Errorf("another process works on %s", dir)
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	l := &ledger{file: file, lock: lock, last: map[string]record{}, lines: map[string]record{}}
	if err := l.read(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), l.close())
	}
	return l, nil
}

func (l *ledger) read() error {
	r := bufio.NewReader(l.file)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if err == io.EOF { // the rest is what a process was writing when it was killed, before it went on
			return l.file.Truncate(l.size)
		}
		if err != nil {
			return err
		}
		var rec record
		if err := json.Unmarshal(bytes.TrimSpace(line), &rec); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		l.apply(rec)
		l.size += int64(len(line))
	}
}

// add appends a line, and returns when it is durable. If only part of a line could be written, the
// next one replaces it.
func (l *ledger) add(rec record) error {
	rec.Time = time.Now().UTC().Truncate(time.Millisecond)
	line, err := json.Marshal(rec)
	if err == nil {
		line = append(line, '\n')
		_, err = l.file.WriteAt(line, l.size)
	}
	if err == nil {
		l.size += int64(len(line))
		err = l.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	l.apply(rec)
	return nil
}

func (l *ledger) apply(rec record) {
	switch {
	case rec.Event == eventSent && (rec.Key == "" || rec.Key != l.last[rec.Entry].Key):
		l.requested += rec.N
	case rec.Event == eventFailed && !rec.Charged:
		l.requested -= rec.N
	}
	l.last[rec.Entry], l.lines[rec.Line] = rec, rec
}

func (l *ledger) close() error { return errors.Join(l.file.Close(), l.lock.Close()) }

// unsent reports whether the entry is still to be sent, and nothing was charged for it.
func (r record) unsent() bool {
	return r.Event == "" || r.Event == eventFailed && !r.Charged && !r.Final
}

// unsure reports whether the entry may have been charged without a result.
func (r record) unsure() bool {
	return r.Event == eventSent || r.Event == eventFailed && r.Charged && !r.Final
}
