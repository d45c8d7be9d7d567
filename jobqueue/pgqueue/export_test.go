package pgqueue

import "lessonkit.example/jobqueue/driver"

const (
	ClaimSQL = claimSQL
	PlanSQL  = planSQL
)

var (
	Parse        = parse
	PurgeSQL     = purgeSQL
	TurnClaimSQL = turnClaimSQL
)

func Payload(s driver.Signal) string { return payloads([]driver.Signal{s})[0] }

func TakesTurn(s *Store, x driver.ExchangeRequest) bool { return s.takesTurn(x) }

func LockTurn(s *Store) (query string, namespace int32) { return turnSQL, s.lockNamespace() }
