package jobqueue

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// childEnv makes the program a worker process; its value is a childSpec.
const childEnv = "JOBQUEUE_BENCH_CHILD"

type childSpec struct {
	System     string
	URL        string
	MaxWorkers int
	Latency    bool // print a line for each job: the nanoseconds from enqueuing to the start of its handler
}

// child prints "ready", waits for a line, runs jobs, prints how many it has completed whenever that
// has changed, and ends when its input does.
func child(spec string) error {
	var s childSpec
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pool, err := openPool(ctx, s.URL)
	if err != nil {
		return err
	}
	defer pool.Close()
	sys, err := newSystem(s.System, pool)
	if err != nil {
		return err
	}
	in := bufio.NewReader(os.Stdin)
	fmt.Println("ready")
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	var count atomic.Int64
	handle := func(Args) {}
	if s.Latency {
		var mu sync.Mutex
		handle = func(a Args) {
			late := time.Now().UnixNano() - a.Started
			mu.Lock()
			defer mu.Unlock()
			fmt.Println(late)
		}
	} else {
		go func() {
			for last := int64(0); ctx.Err() == nil; time.Sleep(2 * time.Millisecond) {
				if n := count.Load(); n != last {
					fmt.Println(n)
					last = n
				}
			}
		}()
	}
	return sys.work(ctx, s.MaxWorkers, handle, func() { count.Add(1) })
}

func openPool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = 10
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return pool, pool.Ping(ctx)
}

// process is a running child.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

func startProcess(s childSpec) (*process, error) {
	spec, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(self, "jobqueue")}
	p.cmd.Env = append(os.Environ(), childEnv+"="+string(spec))
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.lines = bufio.NewScanner(out)
	if !p.lines.Scan() || p.lines.Text() != "ready" {
		_ = p.cmd.Process.Kill()
		return nil, fmt.Errorf("worker process: %q", p.lines.Text())
	}
	return p, nil
}

func (p *process) begin() error {
	_, err := io.WriteString(p.in, "go\n")
	return err
}

func (p *process) end() error {
	p.in.Close()
	for p.lines.Scan() {
	}
	return p.cmd.Wait()
}

// workUntil runs worker processes until they have completed n jobs together and returns how long
// that took and the processor time of the processes.
func workUntil(n, processes int, s childSpec) (took, cpu time.Duration, err error) {
	ps := make([]*process, processes)
	for i := range ps {
		if ps[i], err = startProcess(s); err != nil {
			return 0, 0, err
		}
	}
	var total atomic.Int64
	done := make(chan struct{})
	var once sync.Once
	begin := time.Now()
	for _, p := range ps {
		if err := p.begin(); err != nil {
			return 0, 0, err
		}
	}
	var readers sync.WaitGroup
	for _, p := range ps {
		readers.Go(func() {
			last := int64(0)
			for p.lines.Scan() {
				count, err := strconv.ParseInt(p.lines.Text(), 10, 64)
				if err != nil {
					continue
				}
				if total.Add(count-last) >= int64(n) {
					once.Do(func() { took = time.Since(begin); close(done) })
				}
				last = count
			}
		})
	}
	select {
	case <-done:
	case <-time.After(5 * time.Minute):
		err = fmt.Errorf("%s: %d of %d jobs after 5 minutes", s.System, total.Load(), n)
	}
	for _, p := range ps {
		p.in.Close()
	}
	readers.Wait()
	for _, p := range ps {
		err = errors.Join(err, p.end())
		cpu += p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	}
	return took, cpu, err
}
