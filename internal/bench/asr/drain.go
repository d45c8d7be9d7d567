package asr

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
)

// drainEnv makes the program the server: in a separate process, its work is not measured.
const drainEnv = "ASR_BENCH_DRAIN"

type drainProcess struct {
	cmd   *exec.Cmd
	stdin io.Closer
	addr  string
}

func startDrain() (*drainProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "asr")
	cmd.Env = append(os.Environ(), drainEnv+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the server did not start: %w", err)
	}
	return &drainProcess{cmd, in, strings.TrimSpace(line)}, nil
}

func (d *drainProcess) stop() {
	d.stdin.Close()
	_ = d.cmd.Wait()
}

// drainServer prints its address, discards what it receives, and ends when its input does.
func drainServer() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go drain(c)
		}
	}()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

const answer = `{"code":0,"text":"x","flash_result":[{"text":"x"}]}`

func drain(c net.Conn) {
	defer c.Close()
	r := bufio.NewReaderSize(c, 64<<10)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		if _, err := fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(answer), answer); err != nil {
			return
		}
	}
}
