package pgqueue

import (
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/jobqueue/driver"
)

// The generic cell rate algorithm: every job moves a time forward by the interval between two, and
// the time may be at most the burst ahead of now. The row is locked from here to the commit, so
// claims of rated queues come last.

const addRateSQL = `insert into jobqueue_rate (queue, at) values ($1, now()) on conflict do nothing`

const claimQueues = `unnest($2::text[], $3::int[]) with ordinality q (name, n, i)`

// rateClaimSQL is claimSQL for one queue; $7 is the interval in microseconds, $8 the burst.
var rateClaimSQL = `
with rate as (
  select greatest(at, now()) as at, $7::bigint * interval '1 microsecond' as every
  from jobqueue_rate where queue = ($2::text[])[1] for update),
tokens as (
  select greatest(floor(extract(epoch from now() + $8::int * every - at) / extract(epoch from every)), 0)::int as n
  from rate),
took as (` + strings.Replace(claimSQL, claimQueues,
	`(select name, least(n, (select n from tokens)) as n, i from `+claimQueues+`) q`, 1) + `),
spent as (
  update jobqueue_rate set at = (select at from rate) + (select count(*) from took) * (select every from rate)
  where queue = ($2::text[])[1] and exists (select from took))
select * from took`

const nextTokenSQL = `
select (extract(epoch from at - ($3::int - 1) * ($2::bigint * interval '1 microsecond') - now()) * 1000000)::bigint
from jobqueue_rate where queue = $1`

// queueRateClaim adds the statements that claim jobs of a queue with a rate.
func (s *Store) queueRateClaim(
	b *pgx.Batch, x driver.ExchangeRequest, c driver.ClaimRequest, res *driver.ExchangeResponse,
) {
	every := c.Rate.Every.Microseconds()
	times, ids := make([]time.Time, 0, len(c.After)), make([]int64, 0, len(c.After))
	for _, after := range c.After {
		times, ids = append(times, after.RunAt), append(ids, after.ID)
	}
	b.Queue(s.sql(addRateSQL), c.Queue)
	b.Queue(s.sql(rateClaimSQL), x.Worker, []string{c.Queue}, []int32{int32(c.Limit)}, times, ids, x.Kinds,
		every, c.Rate.Burst).Query(claimed(x, res))
	b.Queue(s.sql(nextTokenSQL), c.Queue, every, c.Rate.Burst).QueryRow(func(row pgx.Row) error {
		var in int64
		err := row.Scan(&in)
		res.AddNext(duration(in))
		return err
	})
}
