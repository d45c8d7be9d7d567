//go:build !race

package pgqueue_test

const raceDetector = false
