package pgqueue

import (
	"fmt"
	"regexp"
	"strconv"
)

// lookAlikes are marks in the version() of databases that say that they are PostgreSQL.
var lookAlikes = regexp.MustCompile(`-YB-|Redshift|Greenplum|RisingWave|Materialize|QuestDB`)

var serverVersion = regexp.MustCompile(`^PostgreSQL (\d+)`)

const oldestServer = 12

// checkServer returns an error unless version, that of version(), is one of PostgreSQL itself.
func checkServer(version string) error {
	match := serverVersion.FindStringSubmatch(version)
	if match == nil || lookAlikes.MatchString(version) {
		return fmt.Errorf("pgqueue: the server is %.200q, not PostgreSQL (%d or later): the queue finds rows by "+
			"ctid, and needs SKIP LOCKED and advisory locks", version, oldestServer)
	}
	if n, err := strconv.Atoi(match[1]); err != nil || n < oldestServer {
		return fmt.Errorf("pgqueue: the server is PostgreSQL %s; %d or later is needed", match[1], oldestServer)
	}
	return nil
}
