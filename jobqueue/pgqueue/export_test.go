package pgqueue

import "lessonkit.example/jobqueue/driver"

const (
	ClaimSQL = claimSQL
	PlanSQL  = planSQL
)

var (
	Parse    = parse
	PurgeSQL = purgeSQL
)

func Payload(s driver.Signal) string { return payloads([]driver.Signal{s})[0] }
