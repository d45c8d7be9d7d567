package service

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http/httputil"
	"slices"
	"strconv"
	"syscall"
	"time"
)

const (
	connections = 16
	warmUp      = 500 * time.Millisecond
	duration    = 2 * time.Second
)

// request returns the n-th request of a connection. A large one is in parts: most of a recording is
// shared memory.
type request func(r *rand.Rand, n int) net.Buffers

// result is the result of a run.
type result struct {
	rate float64 // requests a second
	p99  float64 // milliseconds
}

// load sends small requests over several connections from one thread, each after the answer to the
// one before, and expects the status want. The client does as little as possible, since it shares
// the processors with the server.
func load(addr string, conns, want int, next request) (result, error) {
	// Writes of the previous run are not part of this one.
	syscall.Sync()
	started := time.Now()
	r := rand.New(rand.NewPCG(0, uint64(started.UnixNano())))
	from := started.Add(warmUp)
	times, err := sendSmall(addr, conns, want, from, from.Add(duration), r, next)
	if err != nil {
		return result{}, err
	}
	if len(times) == 0 {
		return result{}, fmt.Errorf("no request ended within %v", duration)
	}
	return result{rate: float64(len(times)) / duration.Seconds(), p99: p99(times)}, nil
}

// p99 returns the 99th percentile in milliseconds. It sorts times.
func p99(times []time.Duration) float64 {
	slices.Sort(times)
	return float64(times[len(times)*99/100].Microseconds()) / 1000
}

func exchange(conn net.Conn, in *bufio.Reader, message net.Buffers, want int) error {
	line, _, _ := bytes.Cut(message[0], []byte("\r\n"))
	_, err := message.WriteTo(conn)
	if err == nil {
		err = receive(in, want)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", line, err)
	}
	return nil
}

// receive reads a response and checks its status.
func receive(in *bufio.Reader, want int) error {
	status, length, err := readHead(in)
	if err != nil {
		return err
	}
	body := io.LimitReader(in, length)
	if length < 0 {
		body = httputil.NewChunkedReader(in)
	}
	if status != want {
		b, _ := io.ReadAll(io.LimitReader(body, 500))
		return fmt.Errorf("status %d instead of %d: %s", status, want, b)
	}
	if _, err = io.Copy(io.Discard, body); err == nil && length < 0 {
		_, err = in.ReadSlice('\n') // the empty line after the last chunk
	}
	return err
}

// readHead reads the head of a response: its status and the length of its body, -1 if that is in
// chunks. http.ReadResponse would take several times as long, because it keeps every header.
func readHead(in *bufio.Reader) (status int, length int64, err error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, 0, err
	}
	_, code, _ := bytes.Cut(line, []byte(" "))
	if status, err = strconv.Atoi(string(code[:min(3, len(code))])); err != nil {
		return 0, 0, fmt.Errorf("not a response: %q", line)
	}
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return 0, 0, err
		}
		name, value, isHeader := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(": "))
		switch {
		case !isHeader:
			return status, length, nil
		case string(name) == "Transfer-Encoding":
			length = -1
		case string(name) == "Content-Length":
			if length, err = strconv.ParseInt(string(value), 10, 64); err != nil {
				return 0, 0, err
			}
		}
	}
}

// message returns an HTTP request, in one part unless its body is in several.
func message(method, path, token, contentType string, body ...[]byte) net.Buffers {
	var b bytes.Buffer
	b.WriteString(method + " " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token + "\r\n")
	if body != nil {
		size := 0
		for _, part := range body {
			size += len(part)
		}
		fmt.Fprintf(&b, "Content-Type: %s\r\nContent-Length: %d\r\n", contentType, size)
	}
	b.WriteString("\r\n")
	if len(body) == 1 {
		b.Write(body[0])
		body = nil
	}
	return append(net.Buffers{b.Bytes()}, body...)
}

// beginning is the size of the part in which recordings differ.
const beginning = 4096

// recording returns content that is detected as mp3, is unique, and ends in end.
func recording(r *rand.Rand, end []byte) [][]byte {
	begin := make([]byte, beginning)
	for i := 0; i < len(begin); i += 8 {
		binary.LittleEndian.PutUint64(begin[i:], r.Uint64())
	}
	copy(begin, "\xff\xfb\x90\x64")
	return [][]byte{begin, end}
}

const (
	boundary = "----bench"
	formType = "multipart/form-data; boundary=" + boundary
)

// form returns a form with a recording, as a phone sends it.
func form(fields map[string]string, file [][]byte) [][]byte {
	var head bytes.Buffer
	for name, value := range fields {
		fmt.Fprintf(&head, "--%s\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", boundary, name, value)
	}
	fmt.Fprintf(&head, "--%s\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x.mp3\"\r\n"+
		"Content-Type: audio/mpeg\r\n\r\n", boundary)
	parts := append([][]byte{head.Bytes()}, file...)
	return append(parts, []byte("\r\n--"+boundary+"--\r\n"))
}
