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
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, answer)
	}))
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

const answer = `{"code":0,"text":"x","flash_result":[{"text":"x"}]}`
