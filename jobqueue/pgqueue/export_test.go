package pgqueue

import (
	"time"

	"lessonkit.example/jobqueue/driver"
)

const PlanSQL = planSQL

var (
	ClaimSQL      = claimSQL(plainClaim(requestedQueues, 2, false, false))
	LargeClaimSQL = claimSQL(plainClaim(requestedQueues, 2, true, false))
	KeyedClaimSQL = claimSQL(keyedClaim(requestedQueues, 2, false))
	Parse         = parse
	CheckServer   = checkServer
)

func Payload(s driver.Signal) string { return payloads([]driver.Signal{s})[0] }

func ClaimsExclusively(s *Store, x driver.ExchangeRequest) bool {
	return s.claimMode(x).exclusive
}

func ExclusiveAgain(s *Store) time.Time { return time.Unix(0, s.exclusiveAgain.Load()) }

func ClaimLock(s *Store) string { return s.sql(claimLockSQL) }
