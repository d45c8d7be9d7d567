//go:build race

package sqlitequeue_test

// The race detector makes programs several times slower.
const raceDetector = true
