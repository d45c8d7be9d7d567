package pgqueue_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue/pgqueue"
)

func TestCheckServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ version, message string }{
		"PostgreSQL":  {"PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc", ""},
		"a beta":      {"PostgreSQL 19beta1 on aarch64-apple-darwin", ""},
		"EDB":         {"PostgreSQL 16.4 (EnterpriseDB Advanced Server 16.4.1) on x86_64-pc-linux-gnu", ""},
		"too old":     {"PostgreSQL 11.22 on x86_64-pc-linux-gnu", "is PostgreSQL 11; 12 or later"},
		"CockroachDB": {"CockroachDB CCL v23.2.4 (x86_64-pc-linux-gnu, built 2024/04/08)", `is "CockroachDB CCL`},
		"YugabyteDB":  {"PostgreSQL 11.2-YB-2.20.1.3-b0 on x86_64-pc-linux-gnu", `is "PostgreSQL 11.2-YB-`},
		"Redshift": {"PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2 20041017 " +
			"(Red Hat 3.4.2-6.fc3), Redshift 1.0.77467",
			`Redshift 1.0.77467", not PostgreSQL`},
		"Greenplum": {"PostgreSQL 12.12 (Greenplum Database 7.1.0 build commit:x) on x86_64",
			`(Greenplum Database 7.1.0`},
		"unknown": {"SomethingDB 3.2", `is "SomethingDB 3.2", not PostgreSQL`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := pgqueue.CheckServer(c.version)
			if c.message == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.message)
			}
		})
	}
}
