package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"lessonkit.example/examples/internal/program"
	"lessonkit.example/feedback/audiotype"
	"lessonkit.example/feedback/feedbackclient"
)

// upload is a recording as the phone knows it. The fields after hash are protected by the phone's
// mutex while it is sent.
type upload struct {
	sequence int
	audio    []byte // nil once it is sent
	hash     string

	whole     bool            // the service may have got all of it
	delivered bool            // the phone wanted an acknowledgement
	took      time.Duration   // to the first acknowledgement
	segments  map[string]bool // in the acknowledgements
	failures  []error         // of the attempts
}

// NewRecording returns a random WAV file, one in ten of them long.
func NewRecording() []byte {
	samples := make([]byte, 2*(200+rand.IntN(8_000)))
	if rand.IntN(10) == 0 {
		samples = make([]byte, 2*(100_000+rand.IntN(300_000)))
	}
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(rand.Int())
	}
	_, _ = rand.NewChaCha8(seed).Read(samples) // never fails
	return append(audiotype.WAVHeader(int64(len(samples)), 16_000, 1), samples...)
}

// send uploads a recording in one of the ways that phones do.
func (p *phone) send(ctx context.Context, u *upload) {
	switch n := rand.IntN(100); {
	case n < 8: // the connection breaks somewhere, the phone tries again
		p.cut(u, rand.IntN(len(u.audio)))
		p.deliver(ctx, u)
	case n < 10: // the connection breaks, and the phone never tries again
		p.cut(u, rand.IntN(len(u.audio)))
	case n < 12: // everything is sent, the answer is lost, and the phone never tries again
		p.cut(u, len(u.audio))
	case n < 20: // everything is sent, the answer is lost, and the phone tries again
		p.cut(u, len(u.audio))
		p.deliver(ctx, u)
	case n < 30: // the same twice at once
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.deliver(ctx, u)
		}()
		p.deliver(ctx, u)
		<-done
	case n < 40: // the same again after the acknowledgement
		p.deliver(ctx, u)
		p.deliver(ctx, u)
	case n < 44: // other bytes with a sequence that is taken
		if p.deliver(ctx, u) {
			p.takenSequence(ctx, u)
		}
	default:
		p.deliver(ctx, u)
	}
}

// deliver repeats an upload until it is acknowledged, refused for good, or the phone's patience
// ends.
func (p *phone) deliver(ctx context.Context, u *upload) (acknowledged bool) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, p.fleet.config.Patience)
	defer cancel()
	p.mu.Lock()
	u.whole, u.delivered = true, true
	p.mu.Unlock()
	for {
		segment, err := p.post(ctx, u.sequence, u.audio)
		if err == nil {
			p.fleet.acknowledged()
			p.mu.Lock()
			defer p.mu.Unlock()
			if len(u.segments) == 0 {
				u.took = time.Since(began)
			}
			u.segments[segment.ID] = true
			return true
		}
		p.mu.Lock()
		u.failures = append(u.failures, err)
		p.mu.Unlock()
		p.fleet.mu.Lock()
		p.fleet.failures[reason(err)]++
		p.fleet.mu.Unlock()
		wait := 100*time.Millisecond + rand.N(400*time.Millisecond)
		if problem, ok := errors.AsType[*feedbackclient.Problem](err); ok {
			if problem.Permanent() {
				return false
			}
			wait += min(problem.RetryAfter(), time.Second) // phones are impatient
		}
		if !program.Pause(ctx, wait) {
			return false
		}
	}
}

func (p *phone) post(ctx context.Context, sequence int, audio []byte) (feedbackclient.Segment, error) {
	ctx, cancel := context.WithTimeout(ctx, p.fleet.config.Attempt)
	defer cancel()
	c := p.client()
	c.MaxRetries = 0 // deliver counts the attempts
	return c.Upload(ctx, p.lesson, sequence, "recording.wav", audio)
}

// takenSequence sends other bytes with a sequence that has been acknowledged.
func (p *phone) takenSequence(ctx context.Context, u *upload) {
	_, err := p.post(ctx, u.sequence, NewRecording())
	var problem *feedbackclient.Problem
	if err == nil || errors.As(err, &problem) && problem.Permanent() && problem.Code != "sequence_taken" {
		p.problem("other bytes under part %d, which was taken, were answered with %v", u.sequence, err)
	}
}

// cut sends the first bytes of a recording and breaks the connection.
func (p *phone) cut(u *upload, keep int) {
	host := strings.TrimPrefix(p.base(), "http://")
	conn, err := net.DialTimeout("tcp", host, time.Second)
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	whole := keep == len(u.audio)
	u.whole = u.whole || whole
	var message bytes.Buffer
	fmt.Fprintf(&message, "POST /api/v1/feedback-lessons/%s/segments?sequence=%d HTTP/1.1\r\nHost: %s\r\n"+
		"X-Development-User: %s\r\nContent-Type: audio/wav\r\n", p.lesson, u.sequence, host, p.name)
	if rand.IntN(3) == 0 { // only the last chunk marks the end
		fmt.Fprintf(&message, "Transfer-Encoding: chunked\r\n\r\n%x\r\n", len(u.audio))
		message.Write(u.audio[:keep])
		if whole {
			message.WriteString("\r\n0\r\n\r\n")
		}
	} else {
		fmt.Fprintf(&message, "Content-Length: %d\r\n\r\n", len(u.audio))
		message.Write(u.audio[:keep])
	}
	_, _ = io.Copy(conn, &message)
	if whole {
		time.Sleep(rand.N(30 * time.Millisecond)) // the service may reach the commit, or get further
	}
	if rand.IntN(2) == 0 {
		_ = conn.(*net.TCPConn).SetLinger(0) // reset rather than closed
	}
}
