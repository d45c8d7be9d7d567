package sqlitequeue

const NextCancelledSQL = nextCancelledSQL

var PurgePageSQL = purgePageSQL
