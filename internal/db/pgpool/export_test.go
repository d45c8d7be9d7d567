package pgpool

import (
	"time"

	"github.com/jackc/pgx/v5"
)

// Limit returns the tracer of Config with another limit.
func Limit(d time.Duration) pgx.QueryTracer { return tracer{limit: d} }
