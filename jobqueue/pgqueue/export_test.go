package pgqueue

import (
	"time"

	"lessonkit.example/jobqueue/driver"
)

const PlanSQL = planSQL

var (
	ClaimSQL      = claimSQL(2)
	LargeClaimSQL = largeClaimSQL(2)
	Parse         = parse
	PurgeSQL      = purgeSQL
	CheckServer   = checkServer
)

func Payload(s driver.Signal) string { return payloads([]driver.Signal{s})[0] }

func ClaimsExclusively(s *Store, x driver.ExchangeRequest) bool { return s.claimsExclusively(x) }

func ExclusiveAgain(s *Store) time.Time { return time.Unix(0, s.exclusiveAgain.Load()) }

func ClaimLock(s *Store) (query string, namespace int32) { return claimLockSQL, s.lockNamespace() }
