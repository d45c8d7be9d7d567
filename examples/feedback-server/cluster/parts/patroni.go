//go:build linux

package parts

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

// database is a server of PostgreSQL under Patroni. It is up when PostgreSQL is.
func (c *Cluster) database(node int, config string) *process {
	up := healthy("http://" + address(node, 8008) + "/health")
	p := c.process(fmt.Sprintf("db%d", node), node, up, "sh", filepath.Join(config, "patroni.sh"),
		filepath.Join(config, "patroni.yml"))
	p.env = []string{
		"PATRONI_NAME=" + p.name, "ADDRESS=" + host(node),
		"PATRONI_POSTGRESQL_DATA_DIR=" + filepath.Join(p.dir, "data"),
		fmt.Sprintf("PATRONI_ETCD_HOSTS='%s','%s','%s'", address(1, 2379), address(2, 2379), address(3, 2379)),
		"PATRONI_RESTAPI_USERNAME=patroni", "PATRONI_RESTAPI_PASSWORD=" + c.password,
		"PATRONI_SUPERUSER_PASSWORD=" + c.password, "PATRONI_REPLICATION_PASSWORD=" + c.password,
		"FEEDBACK_PASSWORD=" + c.password,
	}
	return p
}

// switchOver asks the Patroni of the leader to hand over to its synchronous standby.
func (c *Cluster) switchOver(ctx context.Context, leader *process) error {
	url, body := "http://"+address(leader.node, 8008)+"/switchover", fmt.Sprintf(`{"leader": %q}`, leader.name)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.SetBasicAuth("patroni", c.password)
	return do(req)
}

// healthy is the up of a process that answers GET url with 200 then.
func healthy(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		return do(req)
	}
}

func do(req *http.Request) error {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
		return fmt.Errorf("%s: %s: %s", req.URL, resp.Status, text)
	}
	return nil
}
