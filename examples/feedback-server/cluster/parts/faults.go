//go:build linux

package parts

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/examples/internal/program"
)

// Fault is what can happen to a cluster.
type Fault struct {
	Name string
	run  step
}

// step does something to a process: for a fault, to the leader of the databases.
type step func(c *Cluster, ctx context.Context, p *process) error

// Faults are all that can happen.
func Faults() []Fault {
	return []Fault{
		{"leader killed", replaced(kill, (*Cluster).restart)},
		{"bucket killed", oneOf(func(c *Cluster) []*process { return []*process{c.bucket} })},
		{"Patroni frozen", replaced(freeze, (*Cluster).restartEnded)},
		{"API killed", oneOf(func(c *Cluster) []*process { return c.apis })},
		{"switchover", replaced((*Cluster).switchOver, nothing)},
		{"standby killed", (*Cluster).killStandby},
		{"Patroni and its watch frozen", replaced(freezeWatch, thaw)},
		{"worker killed", oneOf(func(c *Cluster) []*process { return c.workers })},
		{"etcd member killed", oneOf(func(c *Cluster) []*process { return c.etcd })},
		{"node cut off", replaced(link("down"), link("up"))},
		{"node cut off from the others", replaced(routes("add"), routes("del"))},
		{"proxy killed", oneOf(func(c *Cluster) []*process { return []*process{c.proxy} })},
	}
}

// Cause causes a fault, repairs it as a supervisor of processes would, and returns when the cluster
// is whole again. It is an error if a former leader acknowledges a write.
func (c *Cluster) Cause(ctx context.Context, f Fault) error {
	leader, _, err := c.roles(ctx)
	if err != nil {
		return err
	}
	if err := f.run(c, ctx, leader); err != nil {
		return err
	}
	for _, p := range slices.Concat(c.etcd, c.apis, c.workers) {
		if err := p.awaitUp(ctx); err != nil {
			return err
		}
	}
	if err := c.awaitDatabases(ctx); err != nil {
		return err
	}
	return c.awaitFront(ctx)
}

// replaced takes the leader out of service, and back when another server leads.
func replaced(out, back step) step {
	return func(c *Cluster, ctx context.Context, leader *process) error {
		for _, do := range []step{out, (*Cluster).awaitOther, (*Cluster).refuses, back} {
			if err := do(c, ctx, leader); err != nil {
				return err
			}
		}
		return nil
	}
}

// oneOf kills the next one of several processes.
func oneOf(of func(c *Cluster) []*process) step {
	return func(c *Cluster, ctx context.Context, _ *process) error {
		c.turn++
		return c.restart(ctx, of(c)[c.turn%len(of(c))])
	}
}

func (c *Cluster) killStandby(ctx context.Context, _ *process) error {
	_, standby, err := c.roles(ctx)
	if err != nil {
		return err
	}
	return c.restart(ctx, standby)
}

// restart kills a process, if it runs, and starts it after a while.
func (c *Cluster) restart(ctx context.Context, p *process) error {
	p.kill()
	if !program.Pause(ctx, 500*time.Millisecond) {
		return ctx.Err()
	}
	return startAll(ctx, p)
}

// restartEnded starts a server that its watch has ended, which on a busy machine may take longer
// than until another one leads.
func (c *Cluster) restartEnded(ctx context.Context, p *process) error {
	err := await(ctx, func(context.Context) error {
		if p.running() {
			return fmt.Errorf("%s still runs without Patroni", p.name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.restart(ctx, p)
}

// kill keeps the leader down: one that returns before its lock ends leads again.
func kill(_ *Cluster, _ context.Context, p *process) error {
	p.kill()
	return nil
}

func nothing(*Cluster, context.Context, *process) error { return nil }

// freeze stops Patroni, while its PostgreSQL goes on. Its watch ends both.
func freeze(_ *Cluster, _ context.Context, p *process) error {
	return p.signalFirstChild(syscall.SIGSTOP)
}

// freezeWatch also stops the watch. What protects the data then is the proxy, which closes the
// connections to PostgreSQL, and the synchronous standby, without which that acknowledges nothing.
func freezeWatch(_ *Cluster, _ context.Context, p *process) error {
	return errors.Join(p.signal(syscall.SIGSTOP), p.signalFirstChild(syscall.SIGSTOP))
}

func thaw(_ *Cluster, _ context.Context, p *process) error {
	return errors.Join(p.signalFirstChild(syscall.SIGCONT), p.signal(syscall.SIGCONT))
}

// link disconnects a node with all that runs on it, or connects it.
func link(state string) step {
	return func(_ *Cluster, ctx context.Context, p *process) error {
		return exec.CommandContext(ctx, "ip", "link", "set", fmt.Sprint("node", p.node), state).Run()
	}
}

// routes disconnects a node from the other nodes, but not from the proxy, or connects it: clients
// still reach a leader whose standbys do not.
func routes(action string) step {
	return func(_ *Cluster, ctx context.Context, p *process) (err error) {
		for other := 1; other <= nodes; other++ {
			if other != p.node {
				err = errors.Join(err, exec.CommandContext(ctx, "ip", "-n", fmt.Sprint("node", p.node),
					"route", action, "blackhole", host(other)).Run())
			}
		}
		return err
	}
}

// roles asks the server to which the proxy leads which one it is, and for its synchronous standby.
// It is an error unless the two others follow it.
func (c *Cluster) roles(ctx context.Context) (leader, standby *process, err error) {
	conn, err := c.connect(ctx, database)
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close(ctx)
	var server, name string
	var streaming int
	err = conn.QueryRow(ctx, `
		select host(inet_server_addr()), coalesce(max(application_name) filter (where sync_state = 'sync'), ''),
			count(*) filter (where state = 'streaming')
		from pg_stat_replication`).Scan(&server, &name, &streaming)
	for _, db := range c.databases {
		if host(db.node) == server {
			leader = db
		}
		if db.name == name {
			standby = db
		}
	}
	if err == nil && (leader == nil || standby == nil || streaming < nodes-1) {
		err = fmt.Errorf("leader %s has the standby %q; %d servers follow", server, name, streaming)
	}
	return leader, standby, err
}

// awaitDatabases returns when there is a leader with a synchronous standby and another one, and the
// standby may lead: Patroni lets it only after the leader has said in etcd that it is synchronous,
// which is later than PostgreSQL says so. Before that, no loss of the leader is survived.
func (c *Cluster) awaitDatabases(ctx context.Context) error {
	return c.await(ctx, func(ctx context.Context) error {
		_, standby, err := c.roles(ctx)
		if err != nil {
			return err
		}
		return healthy("http://" + address(standby.node, 8008) + "/synchronous")(ctx)
	})
}

// awaitOther returns when the proxy leads to a server that is not the former leader.
func (c *Cluster) awaitOther(ctx context.Context, former *process) error {
	return c.await(ctx, func(ctx context.Context) error {
		leader, _, err := c.roles(ctx)
		if leader != nil && leader != former {
			return nil // its standbys may be on their way
		}
		return errors.Join(errors.New("no other server leads"), err)
	})
}

func (c *Cluster) await(ctx context.Context, check func(context.Context) error) error {
	err := await(ctx, check)
	if err != nil && ctx.Err() == nil {
		for _, db := range c.databases {
			err = fmt.Errorf("%w\n%s: %s", err, db.name, db.logEnd())
		}
	}
	return err
}

// refuses returns an error if a former leader acknowledges a write.
func (c *Cluster) refuses(ctx context.Context, former *process) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	conn, err := c.connect(ctx, address(former.node, 5432))
	if err != nil {
		return nil
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "create table never_acknowledged ()"); err == nil {
		return fmt.Errorf("%s acknowledged a write, while another server leads", former.name)
	}
	return nil
}

func (c *Cluster) connect(ctx context.Context, address string) (*pgx.Conn, error) {
	return pgx.Connect(ctx, fmt.Sprintf("postgres://postgres:%s@%s/postgres?sslmode=disable&connect_timeout=3",
		c.password, address))
}
