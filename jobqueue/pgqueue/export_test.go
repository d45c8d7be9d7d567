package pgqueue

import "lessonkit.example/jobqueue"

const ClaimSQL = claimSQL

var (
	Parse    = parse
	PurgeSQL = purgeSQL
)

func Payload(s jobqueue.Signal) string { return payloads([]jobqueue.Signal{s})[0] }
