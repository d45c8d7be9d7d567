//go:build linux

// Package parts runs the feedback service as a cluster on this machine: on each of three nodes a
// member of etcd, PostgreSQL under Patroni, a process for the API and a worker; beside them a
// bucket, a recogniser and a proxy. It makes them fail, and starts again what was lost.
//
// The nodes are network namespaces that nodes.sh makes. What runs on them is in PID namespaces,
// which end as a whole, as containers do.
package parts

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
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

	dir                   string
	password              string // of the database
	etcd, databases       []*process
	apis, workers         []*process
	bucket, proxy         *process
	recogniser, migration *process
	all                   []*process
	turn                  int // of the next process to kill where there are several
}

// Files are what a cluster is started from.
type Files struct {
	Dir string // receives the data and the logs; empty, or does not exist
	// Config has the files haproxy.cfg, database.cfg, patroni.sh and patroni.yml.
	Config     string
	Recogniser []string // a command that serves on the address that is added to it
}

const (
	nodes = 3
	// outside is the address beside the nodes. database.cfg has those of the nodes.
	outside  = "10.90.0.2"
	database = outside + ":6000" // the port of database.cfg
	front    = outside + ":8000"
	bucket   = outside + ":7070"
	speech   = outside + ":8090"
)

func host(node int) string { return fmt.Sprintf("10.90.0.1%d", node) }

func address(node, port int) string { return fmt.Sprintf("%s:%d", host(node), port) }

// Start starts a cluster and says to progress how far it is. The programs etcd, patroni, those of
// PostgreSQL, versitygw, haproxy and feedback-server are on PATH. The caller calls [Cluster.Stop],
// also after an error.
func Start(ctx context.Context, f Files, progress io.Writer) (*Cluster, error) {
	c := &Cluster{URL: "http://" + front, dir: f.Dir, password: rand.Text()}
	secret := rand.Text()
	objects, attributes := filepath.Join(c.dir, "objects"), filepath.Join(c.dir, "attributes")
	err := errors.Join(os.MkdirAll(filepath.Join(objects, "audio"), 0o700), os.Mkdir(attributes, 0o700))
	if err != nil {
		return c, err
	}
	c.bucket = c.process("bucket", 0, accepts(bucket), "versitygw", "--port", bucket, "--quiet", "posix",
		"--sidecar", attributes, objects) // the file system need not have extended attributes
	c.bucket.env = []string{"ROOT_ACCESS_KEY=feedback", "ROOT_SECRET_KEY=" + secret}
	c.recogniser = c.process("recogniser", 0, accepts(speech), append(f.Recogniser, speech)...)

	env := []string{
		fmt.Sprintf("DATABASE_URL=postgres://feedback:%s@%s/feedback?sslmode=disable"+
			"&connect_timeout=5&pool_max_conns=16", c.password, database),
		"AUDIO_STORAGE_URL=s3://audio/school?region=us-east-1&endpoint=" + url.QueryEscape("http://"+bucket),
		"AWS_ACCESS_KEY_ID=feedback", "AWS_SECRET_ACCESS_KEY=" + secret,
		"LOCAL_ASR_URL=http://" + speech, "ASR_WORKER_CONCURRENCY=4",
		"ASR_RETRY_SECONDS=2", // after a failure of the bucket, too: a minute would exceed the run
		"ALLOW_DEVELOPMENT_USER_HEADER=true", "DEVELOPMENT_HOSTS=" + outside,
		"TRUSTED_PROXIES=" + outside, "LOG_FORMAT=json",
	}
	c.migration = c.process("migrate", 0, nil, "feedback-server", "migrate")
	c.migration.env, c.migration.up = env, c.migration.succeeded
	var members, servers []string
	for node := 1; node <= nodes; node++ {
		members = append(members, fmt.Sprintf("etcd%d=http://%s", node, address(node, 2380)))
		servers = append(servers, fmt.Sprintf("\tserver api%d %s\n", node, address(node, 8080)))
	}
	for node := 1; node <= nodes; node++ {
		c.etcd = append(c.etcd, c.member(node, strings.Join(members, ",")))
		c.databases = append(c.databases, c.database(node, f.Config))
		c.apis = append(c.apis, c.server("api", node, address(node, 8080), env))
		c.workers = append(c.workers, c.server("worker", node, address(node, 8081), env))
	}
	file := filepath.Join(c.dir, "haproxy.cfg")
	if err := withAddresses(filepath.Join(f.Config, "haproxy.cfg"), file, strings.Join(servers, "")); err != nil {
		return c, err
	}
	c.proxy = c.process("proxy", 0, accepts(database), "haproxy", "-db", "-f", file,
		"-f", filepath.Join(f.Config, "database.cfg"))
	return c, c.start(ctx, progress)
}

// withAddresses copies the proxy's configuration for real machines with other addresses.
func withAddresses(from, to, servers string) error {
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
	text = []byte(strings.NewReplacer(bind, "bind "+front+"\n", server, servers).Replace(string(text)))
	return os.WriteFile(to, text, 0o600)
}

// start starts everything in the order of dependence.
func (c *Cluster) start(ctx context.Context, progress io.Writer) error {
	for _, step := range []struct {
		name  string
		parts []*process
		then  func(context.Context) error
	}{
		{"three members of etcd", c.etcd, nil},
		{"three PostgreSQL under Patroni, and haproxy", append(c.databases, c.proxy), c.awaitDatabases},
		{"a bucket and a recogniser", []*process{c.bucket, c.recogniser}, nil},
		{"the tables", []*process{c.migration}, nil},
		{"three processes of the API and three workers", slices.Concat(c.apis, c.workers), c.awaitFront},
	} {
		began := time.Now()
		fmt.Fprintf(progress, "Starting %s ", step.name)
		if err := startAll(ctx, step.parts...); err != nil {
			return err
		}
		if step.then != nil {
			if err := step.then(ctx); err != nil {
				return err
			}
		}
		fmt.Fprintf(progress, "(%.1f s)\n", time.Since(began).Seconds())
	}
	return nil
}

// awaitFront returns when the proxy has found the API.
func (c *Cluster) awaitFront(ctx context.Context) error { return await(ctx, healthy(c.URL+"/readyz")) }

// startAll starts processes that may wait for each other.
func startAll(ctx context.Context, parts ...*process) error {
	for _, p := range parts {
		if err := p.start(); err != nil {
			return err
		}
	}
	for _, p := range parts {
		if err := p.awaitUp(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends all processes at once.
func (c *Cluster) Stop() {
	for _, p := range c.all {
		p.kill()
	}
}

// process returns a process that is to be started on a node, or beside the nodes. Its program and
// arguments are args.
func (c *Cluster) process(name string, node int, up func(context.Context) error, args ...string) *process {
	p := &process{name: name, node: node, dir: filepath.Join(c.dir, name), up: up, args: args}
	c.all = append(c.all, p)
	return p
}

// member is a member of etcd. It is up when it sees a leader.
func (c *Cluster) member(node int, members string) *process {
	peers, clients := "http://"+address(node, 2380), "http://"+address(node, 2379)
	name := fmt.Sprintf("etcd%d", node)
	return c.process(name, node, healthy(clients+"/health"), "etcd", "--name", name, "--data-dir", "data",
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
		"--listen-client-urls", clients, "--advertise-client-urls", clients, "--initial-cluster", members,
		"--enable-v2", "--pre-vote", "--snapshot-count", "10000")
}

// server is a process of the service. It is up when it is ready.
func (c *Cluster) server(role string, node int, address string, env []string) *process {
	up := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return feedbackclient.New("http://"+address, "").Ready(ctx)
	}
	p := c.process(fmt.Sprintf("%s%d", role, node), node, up, "feedback-server", "serve", "-role", role)
	p.env = append([]string{"HTTP_ADDR=" + address}, env...)
	return p
}
