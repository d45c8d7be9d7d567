//go:build race

package pgqueue_test

// The race detector makes programs several times slower.
const raceDetector = true
