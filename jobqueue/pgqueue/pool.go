package pgqueue

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"lessonkit.example/internal/db/pgpool"
)

// PoolConfig returns the configuration of a pool for [New] from an address such as
// postgres://user@host/database. Each statement, and each connect, ends after 20 seconds; without a
// limit, a half-open connection would block its user until TCP gives up. Migrations, and
// transactions between their statements, have none. The pool has up to 12 connections, or as many
// as the address says: "?pool_max_conns=32".
//
// trace, if not nil, is called before each statement with its text without arguments. The statement
// then has the context that it returns; the function that it returns, which may be nil, is called
// once when the statement has ended. A batch is one statement, whose parts "; " separates. trace is
// called concurrently. The tracer in ConnConfig does both: use multitracer.New to add another.
// Other stores of the database share the pool by stdlib.OpenDBFromPool. The error does not contain
// the address, which may have a password in it.
func PoolConfig(
	address string, trace func(ctx context.Context, statement string) (context.Context, func(error)),
) (*pgxpool.Config, error) {
	return pgpool.Config(address, trace)
}
