package sqlitequeue

const NextCancelledSQL = nextCancelledSQL
