//go:build linux

// Package parts runs the feedback service as a cluster of processes on this machine, all on the
// loopback interface: two PostgreSQL servers, a bucket, a recogniser, three processes for the API,
// three workers and a proxy. It kills them, and does what an operator does then: it starts them
// again, and promotes the standby when the primary is lost.
package parts

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lessonkit.example/feedback/feedbackclient"
)

// Cluster is a running cluster. Its methods are not safe for concurrent use.
type Cluster struct {
	URL string // of the proxy

	dir              string
	primary, standby *postgres
	bucket           *process
	recogniser       *process
	apis, workers    []*process
	proxy            *process
	migration        *process
	all              []*process
	turn             int // of the next api or worker to kill
}

// Kinds are the kinds of parts that [Cluster.Kill] kills.
func Kinds() []string { return []string{"primary", "bucket", "api", "standby", "worker", "proxy"} }

const nodes = 3 // of the API, and workers

// Files are what a cluster is started from.
type Files struct {
	Dir        string   // receives the data and the logs; empty, or does not exist
	Postgres   string   // the path of deploy/postgres.sh
	Proxy      string   // the path of haproxy.cfg
	Recogniser []string // a command that serves on the address that is added to it
}

// Start starts a cluster. The programs initdb, postgres, pg_basebackup, versitygw, haproxy and
// feedback-server are on PATH. The caller calls [Cluster.Stop], also after an error.
func Start(ctx context.Context, f Files) (*Cluster, error) {
	c := &Cluster{dir: f.Dir}
	addresses, err := freeAddresses(5 + 2*nodes)
	if err != nil {
		return c, err
	}
	take := func() (address string) {
		address, addresses = addresses[0], addresses[1:]
		return address
	}
	password, secret := rand.Text(), rand.Text()
	db1, db2 := take(), take()
	c.primary = c.postgres("db1", db1, db2, password, f.Postgres)
	c.standby = c.postgres("db2", db2, db1, password, f.Postgres)

	bucket, objects, attributes := take(), filepath.Join(c.dir, "objects"), filepath.Join(c.dir, "attributes")
	err = errors.Join(os.MkdirAll(filepath.Join(objects, "audio"), 0o700), os.Mkdir(attributes, 0o700))
	if err != nil {
		return c, err
	}
	c.bucket = c.process("bucket", accepts(bucket), "versitygw", "--port", bucket, "--quiet", "posix",
		"--sidecar", attributes, objects) // the file system need not have extended attributes
	c.bucket.env = []string{"ROOT_ACCESS_KEY=feedback", "ROOT_SECRET_KEY=" + secret}
	speech := take()
	c.recogniser = c.process("recogniser", accepts(speech), append(f.Recogniser, speech)...)

	env := []string{
		// With target_session_attrs the servers find the one of both that accepts writes. While a
		// standby is away, commits keep their connections, and others need some to read.
		fmt.Sprintf("DATABASE_URL=postgres://feedback:%s@%s,%s/feedback?sslmode=disable"+
			"&target_session_attrs=read-write&connect_timeout=5&pool_max_conns=16",
			password, c.primary.address, c.standby.address),
		"AUDIO_STORAGE_URL=s3://audio/school?region=us-east-1&endpoint=" + url.QueryEscape("http://"+bucket),
		"AWS_ACCESS_KEY_ID=feedback", "AWS_SECRET_ACCESS_KEY=" + secret,
		"LOCAL_ASR_URL=http://" + speech, "ASR_WORKER_CONCURRENCY=4",
		"ASR_RETRY_SECONDS=2", // after a failure of the bucket, too: a minute would exceed the run
		"ALLOW_DEVELOPMENT_USER_HEADER=true", "TRUSTED_PROXIES=127.0.0.1", "LOG_FORMAT=json",
	}
	c.migration = c.process("migrate", nil, "feedback-server", "migrate")
	c.migration.env, c.migration.up = env, c.migration.succeeded
	var backend string
	for i := range nodes {
		api, worker := take(), take()
		c.apis = append(c.apis, c.server("api", i, api, env))
		c.workers = append(c.workers, c.server("worker", i, worker, env))
		backend += fmt.Sprintf("\tserver api%d %s\n", i+1, api)
	}
	front := take()
	c.URL = "http://" + front
	file := filepath.Join(c.dir, "haproxy.cfg")
	if err := withAddresses(f.Proxy, file, front, backend); err != nil {
		return c, err
	}
	c.proxy = c.process("proxy", accepts(front), "haproxy", "-db", "-f", file)
	return c, c.start(ctx)
}

// withAddresses copies the proxy's configuration for real machines with other addresses.
func withAddresses(from, to, front, backend string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	const bind, server = "bind :443 ssl crt /etc/haproxy/feedback.pem\n", "\tserver one 127.0.0.1:8080\n"
	for _, line := range []string{bind, server} {
		if !strings.Contains(string(text), line) {
			return fmt.Errorf("%s has no line %q", from, strings.TrimSpace(line))
		}
	}
	text = []byte(strings.NewReplacer(bind, "bind "+front+"\n", server, backend).Replace(string(text)))
	return os.WriteFile(to, text, 0o600)
}

// start starts everything in the order of dependence.
func (c *Cluster) start(ctx context.Context) error {
	if err := c.primary.startAfter(ctx, c.primary); err != nil {
		return err
	}
	if err := c.rejoin(ctx); err != nil {
		return err
	}
	for _, p := range slices.Concat([]*process{c.migration, c.bucket, c.recogniser}, c.apis, c.workers) {
		if err := p.start(ctx); err != nil {
			return err
		}
	}
	return c.proxy.start(ctx)
}

// Stop ends all processes at once.
func (c *Cluster) Stop() {
	for _, p := range c.all {
		p.kill()
	}
}

// Kill kills a part of a kind, which stays down for a while. It returns when the part, or its
// successor, does its work again.
func (c *Cluster) Kill(ctx context.Context, kind string, down time.Duration) error {
	switch kind {
	case "primary":
		return c.failOver(ctx, down)
	case "standby":
		c.standby.kill()
		if err := Sleep(ctx, down); err != nil {
			return err
		}
		if err := c.standby.startAfter(ctx, c.primary); err != nil {
			return err
		}
		return c.awaitStandby(ctx)
	case "bucket":
		return restart(ctx, c.bucket, down)
	case "proxy":
		return restart(ctx, c.proxy, down)
	case "api", "worker":
		list := c.apis
		if kind == "worker" {
			list = c.workers
		}
		c.turn++
		return restart(ctx, list[c.turn%len(list)], down)
	}
	return fmt.Errorf("there is no kind %q", kind)
}

func restart(ctx context.Context, p *process, down time.Duration) error {
	p.kill()
	if err := Sleep(ctx, down); err != nil {
		return err
	}
	return p.start(ctx)
}

// failOver loses the primary, promotes the standby, and makes the lost server the new standby. The
// lost server is dead before the promotion and starts only as a standby: there is never a second
// primary.
func (c *Cluster) failOver(ctx context.Context, down time.Duration) error {
	c.primary.kill()
	if err := Sleep(ctx, down); err != nil {
		return err
	}
	if err := c.standby.promote(ctx); err != nil {
		return err
	}
	c.primary, c.standby = c.standby, c.primary
	return c.rejoin(ctx)
}

// rejoin makes the server that is not running the standby, with a new copy of the data. This also
// fences a former primary: what it had written and nobody else had is gone before it starts.
func (c *Cluster) rejoin(ctx context.Context) error {
	if err := os.RemoveAll(c.standby.data()); err != nil {
		return err
	}
	if err := c.standby.startAfter(ctx, c.primary); err != nil {
		return err
	}
	return c.awaitStandby(ctx)
}

func (c *Cluster) awaitStandby(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := c.primary.hasStandby(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w\n%s\n%s", err, c.primary.logEnd(), c.standby.logEnd())
		}
		_ = Sleep(ctx, 20*time.Millisecond)
	}
}

func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// process returns a process that is to be started. Its program and arguments are args.
func (c *Cluster) process(name string, up func(context.Context) error, args ...string) *process {
	p := &process{name: name, dir: filepath.Join(c.dir, name), up: up, args: args}
	c.all = append(c.all, p)
	return p
}

// server is a process of the service. It is up when it is ready.
func (c *Cluster) server(role string, i int, address string, env []string) *process {
	up := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return feedbackclient.New("http://"+address, "").Ready(ctx)
	}
	p := c.process(fmt.Sprintf("%s%d", role, i+1), up, "feedback-server", "serve", "-role", role)
	p.env = append([]string{"HTTP_ADDR=" + address}, env...)
	return p
}
