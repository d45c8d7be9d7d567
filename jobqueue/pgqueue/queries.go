package pgqueue

// queries are all statements, with the schema in place. Each stands beside the method that runs it.
type queries struct {
	insert, insertMany, findUnique          string
	register, beat, beatCancelled           string
	succeed, discard, end, postpone         string
	claim, next                             string
	release, forget                         string
	expired, takeBack, removeWorkers, audit string
	get, stats, running, bad, workers       string
	requeue, runNow, exists                 string
	cancelWaiting, cancelRunning            string
}

func newQueries(schema string) queries {
	q := func(text string) string { return qualify(schema, text) }
	return queries{
		insert: q(insertSQL), insertMany: q(insertManySQL), findUnique: q(findUniqueSQL),
		register: q(registerSQL), beat: q(beatSQL), beatCancelled: q(beatCancelledSQL),
		succeed: q(succeedSQL), discard: q(discardSQL), end: q(endSQL), postpone: q(postponeSQL),
		claim: q(claimSQL), next: q(nextSQL),
		release: q(releaseSQL), forget: q(forgetSQL),
		expired: q(expiredSQL), takeBack: q(takeBackSQL), removeWorkers: q(removeWorkersSQL), audit: q(auditSQL),
		get: q(getSQL), stats: q(statsSQL), running: q(runningSQL), bad: q(badSQL), workers: q(workersSQL),
		requeue: q(requeueSQL), runNow: q(runNowSQL), exists: q(existsSQL),
		cancelWaiting: q(cancelWaitingSQL), cancelRunning: q(cancelRunningSQL),
	}
}
