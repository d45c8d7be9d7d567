//go:build linux

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"lessonkit.example/feedback/feedbackclient"
)

// upload is one segment as the phone knows it.
type upload struct {
	sequence int
	rec      recording
	hash     string
	segment  string // the identifier in the acknowledgement; "": not acknowledged
	whole    bool   // the server may have got all of it
}

// phone uploads segments to one lesson. Each phone is another teacher's.
type phone struct {
	load    *load
	user    string
	session string
	lesson  string

	uploads []*upload
	next    atomic.Int64
}

// base returns the next server's address, as a load balancer would.
func (p *phone) base() string {
	return p.load.bases[int(p.next.Add(1))%len(p.load.bases)]
}

func (p *phone) client() feedbackclient.Client {
	c := feedbackclient.Development(p.base(), p.user)
	c.HTTP = p.load.http
	return c
}

// run uploads until stopped, each segment until it is acknowledged.
func (p *phone) run(ctx context.Context, stopped <-chan struct{}) {
	for {
		pause := rand.N(2 * p.load.pace)
		select {
		case <-stopped:
			return
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		u := &upload{sequence: len(p.uploads), rec: newRecording()}
		u.hash = hashOf(u.rec.bytes())
		p.uploads = append(p.uploads, u)
		p.one(ctx, u)
	}
}

// one uploads a segment in one of the ways that phones do.
func (p *phone) one(ctx context.Context, u *upload) {
	switch n := rand.IntN(100); {
	case n < 8: // the connection breaks somewhere, the phone tries again
		p.cut(u, rand.IntN(u.rec.size))
		p.deliver(ctx, u)
	case n < 10: // the connection breaks, and the phone never tries again
		p.cut(u, rand.IntN(u.rec.size))
	case n < 12: // everything is sent, the answer is lost, and the phone never tries again
		p.cut(u, -1)
	case n < 20: // everything is sent, the answer is lost, and the phone tries again
		p.cut(u, -1)
		p.deliver(ctx, u)
	case n < 30: // the same twice at once
		done := make(chan struct{})
		twin := *u
		go func() {
			defer close(done)
			p.deliver(ctx, &twin)
		}()
		p.deliver(ctx, u)
		<-done
		if twin.segment != "" && u.segment != "" && twin.segment != u.segment {
			p.load.violation("sequence %d of %s was acknowledged as two segments: %s and %s", u.sequence, p.user,
				u.segment, twin.segment)
		}
	case n < 40: // the same again after the acknowledgement
		p.deliver(ctx, u)
		p.deliver(ctx, u)
	case n < 44: // other bytes with a sequence that is taken
		p.deliver(ctx, u)
		p.takenSequence(ctx, u)
	default:
		p.deliver(ctx, u)
	}
}

// deliver sends a segment until it is acknowledged, or the load gives up.
func (p *phone) deliver(ctx context.Context, u *upload) {
	audio := u.rec.bytes()
	for ctx.Err() == nil {
		u.whole = true
		status, seg, err := p.post(ctx, u.sequence, audio)
		switch {
		case err == nil && (status == http.StatusAccepted || status == http.StatusOK):
			p.load.acknowledged.Add(1)
			if seg.SHA256 != u.hash || seg.Sequence != u.sequence {
				p.load.violation("sequence %d of %s was acknowledged as sequence %d with hash %s instead of %s",
					u.sequence, p.user, seg.Sequence, seg.SHA256, u.hash)
			}
			if u.segment != "" && u.segment != seg.ID {
				p.load.violation("sequence %d of %s was acknowledged as two segments: %s and %s", u.sequence, p.user,
					u.segment, seg.ID)
			}
			u.segment = seg.ID
			return
		case err != nil && !mayRetry(err):
			p.load.violation("upload of sequence %d of %s: %v", u.sequence, p.user, err)
			return
		}
		p.load.refuse(err)
		select {
		case <-ctx.Done():
		case <-time.After(50*time.Millisecond + rand.N(200*time.Millisecond)):
		}
	}
}

// mayRetry reports whether faults may cause an upload's error: no connection, or an answer that
// invites a retry.
func mayRetry(err error) bool {
	var p *feedbackclient.Problem
	if !errors.As(err, &p) {
		return true
	}
	switch p.Status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusInsufficientStorage:
		return true
	}
	return false
}

// takenSequence sends other bytes with a sequence that has been acknowledged.
func (p *phone) takenSequence(ctx context.Context, u *upload) {
	if u.segment == "" {
		return
	}
	status, _, err := p.post(ctx, u.sequence, newRecording().bytes())
	var problem *feedbackclient.Problem
	if errors.As(err, &problem) && (problem.Code == "sequence_taken" || mayRetry(err)) || err != nil &&
		problem == nil {
		return
	}
	p.load.violation("other bytes under sequence %d of %s: %d %v", u.sequence, p.user, status, err)
}

// post sends a segment in one of the forms that the interface takes.
func (p *phone) post(ctx context.Context, sequence int, audio []byte) (status int, seg feedbackclient.Segment,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, p.load.timeout)
	defer cancel()
	contentType, query, body := encode(sequence, audio)
	var reader io.Reader = bytes.NewReader(body)
	if rand.IntN(4) == 0 {
		reader = io.MultiReader(reader) // without a Content-Length
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base()+"/api/v1/feedback-lessons/"+p.lesson+
		"/segments"+query, reader)
	if err != nil {
		return 0, seg, err
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("X-Development-User", p.user)
	began := time.Now()
	resp, err := p.load.http.Do(req)
	if err != nil {
		return 0, seg, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		problem := feedbackclient.Problem{Status: resp.StatusCode}
		if err := json.NewDecoder(resp.Body).Decode(&problem); err != nil {
			problem.Detail = "not a problem document: " + err.Error()
		}
		p.load.answered(problem.Status, problem.Code)
		return resp.StatusCode, seg, &problem
	}
	err = json.NewDecoder(resp.Body).Decode(&seg)
	if err == nil {
		p.load.took(time.Since(began))
	}
	return resp.StatusCode, seg, err
}

// encode makes a form, or the plain recording as the body.
func encode(sequence int, audio []byte) (contentType, query string, body []byte) {
	if rand.IntN(3) == 0 {
		return "audio/wav", "?sequence=" + strconv.Itoa(sequence), audio
	}
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	number := func() { w.WriteField("sequence", strconv.Itoa(sequence)) }
	first := rand.IntN(2) == 0
	if first {
		number()
	}
	part, _ := w.CreateFormFile("file", "recording.wav")
	part.Write(audio)
	if !first {
		number()
	}
	w.Close()
	return w.FormDataContentType(), "", form.Bytes()
}

// cut sends keep bytes of the body (all if keep is negative) and breaks the connection.
func (p *phone) cut(u *upload, keep int) {
	p.load.cut.Add(1)
	contentType, query, body := encode(u.sequence, u.rec.bytes())
	if keep < 0 || keep > len(body) {
		keep = len(body)
	}
	u.whole = keep == len(body)
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(p.base(), "http://"), time.Second)
	if err != nil {
		u.whole = false
		return
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	head := "POST /api/v1/feedback-lessons/" + p.lesson + "/segments" + query + " HTTP/1.1\r\nHost: phone\r\n" +
		"X-Development-User: " + p.user + "\r\nContent-Type: " + contentType + "\r\n"
	switch rand.IntN(3) {
	case 0: // chunked: only the last chunk marks the end
		fmt.Fprintf(conn, "%sTransfer-Encoding: chunked\r\n\r\n%x\r\n", head, len(body))
		conn.Write(body[:keep])
		if u.whole {
			io.WriteString(conn, "\r\n0\r\n\r\n")
		}
	default:
		fmt.Fprintf(conn, "%sContent-Length: %d\r\n\r\n", head, len(body))
		conn.Write(body[:keep])
	}
	if u.whole {
		time.Sleep(rand.N(30 * time.Millisecond)) // the server may reach the commit, or get further
	}
	if rand.IntN(2) == 0 {
		conn.(*net.TCPConn).SetLinger(0) // reset rather than closed
	}
}
