package pgqueue

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/wake"
)

const notifySQL = `select pg_notify($1::text, p) from unnest($2::text[]) p`

// notifyAfterSQL does not wait for a disk flush: its transaction writes nothing.
const notifyAfterSQL = `
select pg_notify($1::text, p), set_config('synchronous_commit', 'off', true) from unnest($2::text[]) p`

func (s *Store) channel() string {
	if s.cfg.Schema == "" {
		return "jobqueue"
	}
	name := "jobqueue_" + s.cfg.Schema
	if len(name) > maxNameLen {
		sum := sha256.Sum256([]byte(name))
		name = "jobqueue_" + hex.EncodeToString(sum[:16])
	}
	return name
}

const maxNameLen = 63 // PostgreSQL truncates longer names in LISTEN and refuses them in pg_notify

// wake notifies workers of committed jobs. A NOTIFY inside the inserting transaction would make all
// commits wait for one lock, so it is sent afterwards, coalesced, and not at all when a worker of
// this process starts the only job. (A single insertion after a pause has sent its own.)
func (s *Store) wake(rs []driver.Record) {
	signals, counts := wake.Of(rs)
	for _, sig := range signals {
		started := s.hub.Emit(sig)
		if !s.cfg.PollOnly && !(started && counts[sig.Queue] == 1) {
			s.notify.Add(sig)
		}
	}
}

func (s *Store) signal(sig driver.Signal) {
	s.hub.Emit(sig)
	if !s.cfg.PollOnly {
		s.notify.Add(sig)
	}
}

// sendNotify may fail: workers poll as well.
func (s *Store) sendNotify(signals []driver.Signal) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, _ = s.pool.Exec(ctx, notifyAfterSQL, s.channel(), payloads(signals))
}

const maxMicroseconds = int64(math.MaxInt64 / time.Microsecond)

// payloads encodes signals: "q MICROSECONDS QUEUE", "c ID", "k 1 SERIAL_KEY", "g 1 AFTER_GROUP", or
// "s 1" for a changed schedule.
func payloads(signals []driver.Signal) []string {
	texts := make([]string, len(signals))
	for i, sig := range signals {
		switch {
		case sig.SerialKey != "":
			texts[i] = "k 1 " + sig.SerialKey
		case sig.AfterGroup != "":
			texts[i] = "g 1 " + sig.AfterGroup
		case sig.Schedules:
			texts[i] = "s 1"
		case sig.Cancel != 0:
			texts[i] = "c " + strconv.FormatInt(sig.Cancel, 10)
		default:
			texts[i] = "q " + strconv.FormatInt(sig.In.Microseconds(), 10) + " " + sig.Queue
		}
	}
	return texts
}

// parse is the inverse of payloads for one text; ok is false for notifications of other senders.
func parse(text string) (sig driver.Signal, ok bool) {
	kind, rest, _ := strings.Cut(text, " ")
	number, queue, _ := strings.Cut(rest, " ")
	n, err := strconv.ParseInt(number, 10, 64)
	switch {
	case err != nil || n < -maxMicroseconds || n > maxMicroseconds:
	case kind == "k" && n == 1 && queue != "":
		return driver.Signal{SerialKey: queue}, true
	case kind == "g" && n == 1 && queue != "":
		return driver.Signal{AfterGroup: queue}, true
	case text == "s 1":
		return driver.Signal{Schedules: true}, true
	case kind == "c" && n > 0:
		return driver.Signal{Cancel: n}, true
	case kind == "q" && queue != "":
		return driver.Signal{Queue: queue, In: time.Duration(n) * time.Microsecond}, true
	}
	return sig, false
}

// Listen implements driver.Listener on a separate connection.
func (s *Store) Listen(ctx context.Context, ready func(), f func(driver.Signal) bool) error {
	defer s.hub.Subscribe(f)()
	if s.cfg.PollOnly {
		<-ctx.Done()
		return ctx.Err()
	}
	conn, err := s.listenConn(ctx)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing)
	}()
	if _, err := conn.Exec(ctx, "listen "+quote(s.channel())); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	// A pooler may accept LISTEN and deliver nothing: only the echo of a notification proves that
	// it works.
	echo := "echo " + rand.Text()
	if _, err := s.pool.Exec(ctx, notifySQL, s.channel(), []string{echo}); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		if n.Payload == echo {
			// Earlier notifications of keys and groups were not received.
			if err := s.promoteIdle(ctx); err != nil {
				return fmt.Errorf("listen: %w", err)
			}
			s.listening.Add(1)
			defer s.listening.Add(-1)
			ready()
		} else if sig, ok := parse(n.Payload); ok && (sig.SerialKey != "" || sig.AfterGroup != "") {
			s.promoter.Add(sig)
		} else if ok {
			f(sig)
		}
	}
}

func (s *Store) listenConn(ctx context.Context) (*pgx.Conn, error) {
	if s.cfg.ListenConn != nil {
		return pgx.ConnectConfig(ctx, s.cfg.ListenConn.Copy())
	}
	pc := s.pool.Config() // a copy
	if pc.BeforeConnect != nil {
		if err := pc.BeforeConnect(ctx, pc.ConnConfig); err != nil {
			return nil, err
		}
	}
	return pgx.ConnectConfig(ctx, pc.ConnConfig)
}
