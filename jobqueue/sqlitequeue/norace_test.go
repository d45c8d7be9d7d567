//go:build !race

package sqlitequeue_test

const raceDetector = false
