package pgqueue

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/wake"
)

const notifySQL = `select pg_notify($1::text, p) from unnest($2::text[]) p`

// notifyAfterSQL does not wait for a disk flush: its transaction writes nothing.
const notifyAfterSQL = `
select pg_notify($1::text, p), set_config('synchronous_commit', 'off', true) from unnest($2::text[]) p`

// channel returns the name of the channel of notifications. Schemas may share one, and so may those
// that the search path selects: every notification says only that there may be something to do.
func (s *Store) channel() string {
	if s.cfg.Schema == "" {
		return "jobqueue"
	}
	return fmt.Sprintf("jobqueue_%08x", crc32.ChecksumIEEE([]byte(s.cfg.Schema)))
}

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

// payloads encodes signals as JSON.
func payloads(signals []driver.Signal) []string {
	texts := make([]string, len(signals))
	for i, sig := range signals {
		text, _ := json.Marshal(sig) // cannot fail
		texts[i] = string(text)
	}
	return texts
}

// parse is the inverse of payloads for one text; ok is false for notifications of other senders.
func parse(text string) (sig driver.Signal, ok bool) {
	err := json.Unmarshal([]byte(text), &sig)
	return sig, err == nil && sig != driver.Signal{}
}

// listenTimeout is how long connecting and listening may take.
const listenTimeout = 15 * time.Second

// Listen implements driver.Store on a separate connection.
func (s *Store) Listen(ctx context.Context, ready func(), f func(driver.Signal) bool) error {
	defer s.hub.Subscribe(f)()
	if s.cfg.PollOnly {
		<-ctx.Done()
		return ctx.Err()
	}
	setup, cancel := context.WithTimeout(ctx, listenTimeout)
	defer cancel()
	conn, err := s.listenConn(setup)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing)
	}()
	if _, err := conn.Exec(setup, "listen "+quote(s.channel())); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	// A pooler may accept LISTEN and deliver nothing: only the echo of a notification proves that
	// it works.
	echo := "echo " + rand.Text()
	if _, err := s.pool.Exec(setup, notifySQL, s.channel(), []string{echo}); err != nil {
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
		} else if sig, ok := parse(n.Payload); ok && (sig.LimitKey != "" || sig.AfterGroup != "") {
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
