package pgqueue

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// lookAlikes are marks in the version() of databases that speak PostgreSQL's protocol.
var lookAlikes = []struct{ mark, name string }{
	{"CockroachDB", "CockroachDB"}, {"-YB-", "YugabyteDB"}, {"Redshift", "Amazon Redshift"},
	{"Greenplum", "Greenplum"}, {"RisingWave", "RisingWave"}, {"Materialize", "Materialize"},
	{"CrateDB", "CrateDB"}, {"QuestDB", "QuestDB"},
}

var serverVersion = regexp.MustCompile(`^PostgreSQL (\d+)`)

const oldestServer = 12

// checkServer returns an error unless version, that of version(), is one of PostgreSQL itself.
func checkServer(version string) error {
	for _, l := range lookAlikes {
		if strings.Contains(version, l.mark) {
			return notPostgres(l.name)
		}
	}
	match := serverVersion.FindStringSubmatch(version)
	if match == nil {
		return notPostgres(fmt.Sprintf("%.100q", version))
	}
	if n, err := strconv.Atoi(match[1]); err != nil || n < oldestServer {
		return fmt.Errorf("pgqueue: the server is PostgreSQL %s; %d or later is needed", match[1], oldestServer)
	}
	return nil
}

func notPostgres(name string) error {
	return fmt.Errorf("pgqueue: the server is %s, not PostgreSQL (%d or later): the queue finds rows by ctid, and "+
		"needs SKIP LOCKED and advisory locks", name, oldestServer)
}
