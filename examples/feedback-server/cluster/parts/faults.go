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
)

// Fault is what can happen to a cluster.
type Fault struct {
	Name string
	// run causes it and repairs it as a supervisor of processes would. What is killed stays down
	// for a while.
	run func(c *Cluster, ctx context.Context, down time.Duration) error
}

// Faults are all that can happen. Those of the database are always of its leader, except where the
// name says otherwise.
func Faults() []Fault {
	one := func(kind string, of func(c *Cluster) []*process) Fault {
		return Fault{kind + " killed", func(c *Cluster, ctx context.Context, down time.Duration) error {
			c.turn++
			return c.restart(ctx, of(c)[c.turn%len(of(c))], down)
		}}
	}
	return []Fault{
		{"leader killed", (*Cluster).killLeader},
		one("bucket", func(c *Cluster) []*process { return []*process{c.bucket} }),
		{"Patroni frozen", (*Cluster).freezePatroni},
		one("API", func(c *Cluster) []*process { return c.apis }),
		{"switchover", (*Cluster).switchover},
		{"standby killed", (*Cluster).killStandby},
		{"Patroni and its watch frozen", (*Cluster).freezeWatch},
		one("worker", func(c *Cluster) []*process { return c.workers }),
		one("etcd member", func(c *Cluster) []*process { return c.etcd }),
		{"node cut off", (*Cluster).cutOff},
		{"node cut off from the others", (*Cluster).cutApart},
		one("proxy", func(c *Cluster) []*process { return []*process{c.proxy} }),
	}
}

// Cause causes a fault, and returns when the cluster is whole again. It is an error if a former
// leader acknowledges a write.
func (c *Cluster) Cause(ctx context.Context, f Fault, down time.Duration) error {
	if err := f.run(c, ctx, down); err != nil {
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

func (c *Cluster) restart(ctx context.Context, p *process, down time.Duration) error {
	p.kill()
	if err := Sleep(ctx, down); err != nil {
		return err
	}
	return startAll(ctx, p)
}

// killLeader keeps the leader down until another server leads: a leader that returns before its
// lock ends leads again.
func (c *Cluster) killLeader(ctx context.Context, down time.Duration) error {
	leader, _, err := c.roles(ctx)
	if err != nil {
		return err
	}
	leader.kill()
	if err := c.awaitOther(ctx, leader); err != nil {
		return err
	}
	return c.restart(ctx, leader, down)
}

func (c *Cluster) killStandby(ctx context.Context, down time.Duration) error {
	_, standby, err := c.roles(ctx)
	if err != nil {
		return err
	}
	return c.restart(ctx, standby, down)
}

func (c *Cluster) switchover(ctx context.Context, _ time.Duration) error {
	leader, _, err := c.roles(ctx)
	if err != nil {
		return err
	}
	if err := c.switchOver(ctx, leader); err != nil {
		return err
	}
	return c.awaitOther(ctx, leader)
}

// freezePatroni stops Patroni, while its PostgreSQL goes on. Its watch must end the server.
func (c *Cluster) freezePatroni(ctx context.Context, down time.Duration) error {
	leader, _, err := c.roles(ctx)
	if err != nil {
		return err
	}
	if err := leader.signalFirstChild(syscall.SIGSTOP); err != nil {
		return err
	}
	if err := c.awaitOther(ctx, leader); err != nil {
		return err
	}
	if err := c.refuses(ctx, leader); err != nil {
		return err
	}
	err = await(ctx, func(context.Context) error { // on a busy machine later than the other one leads
		if leader.running() {
			return fmt.Errorf("%s still runs without Patroni", leader.name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.restart(ctx, leader, down)
}

// freezeWatch also stops what would end that server. What protects the data then is the proxy,
// which closes the connections to it, and the synchronous standby, without which it acknowledges
// nothing.
func (c *Cluster) freezeWatch(ctx context.Context, _ time.Duration) error {
	leader, _, err := c.roles(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(leader.signal(syscall.SIGSTOP), leader.signalFirstChild(syscall.SIGSTOP)); err != nil {
		return err
	}
	if err := c.awaitOther(ctx, leader); err != nil {
		return err
	}
	if err := c.refuses(ctx, leader); err != nil {
		return err
	}
	return errors.Join(leader.signalFirstChild(syscall.SIGCONT), leader.signal(syscall.SIGCONT))
}

// cutOff disconnects the leader's node, with all that runs on it.
func (c *Cluster) cutOff(ctx context.Context, _ time.Duration) error {
	return c.disconnect(ctx, func(node int, cut bool) error {
		state := "up"
		if cut {
			state = "down"
		}
		return exec.CommandContext(ctx, "ip", "link", "set", fmt.Sprint("node", node), state).Run()
	})
}

// cutApart disconnects the leader's node from the other nodes, but not from the proxy: clients
// still reach a leader whose standbys do not.
func (c *Cluster) cutApart(ctx context.Context, _ time.Duration) error {
	return c.disconnect(ctx, func(node int, cut bool) error {
		action := "del"
		if cut {
			action = "add"
		}
		var failed error
		for other := 1; other <= nodes; other++ {
			if other != node {
				failed = errors.Join(failed, exec.CommandContext(ctx, "ip", "-n", fmt.Sprint("node", node),
					"route", action, "blackhole", host(other)).Run())
			}
		}
		return failed
	})
}

// disconnect disconnects the leader's node until another server leads.
func (c *Cluster) disconnect(ctx context.Context, set func(node int, cut bool) error) error {
	leader, _, err := c.roles(ctx)
	if err != nil {
		return err
	}
	if err := set(leader.node, true); err != nil {
		return err
	}
	if err := c.awaitOther(ctx, leader); err != nil {
		return err
	}
	if err := set(leader.node, false); err != nil {
		return err
	}
	return c.refuses(ctx, leader)
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

// awaitDatabases returns when there is a leader with a synchronous standby and another one.
func (c *Cluster) awaitDatabases(ctx context.Context) error {
	return c.await(ctx, func(ctx context.Context) error {
		_, _, err := c.roles(ctx)
		return err
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
