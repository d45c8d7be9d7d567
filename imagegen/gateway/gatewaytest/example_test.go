package gatewaytest_test

import (
	"testing"

	"lessonkit.example/imagegen/gateway"
	"lessonkit.example/imagegen/gateway/gatewaytest"
)

// The test of a store hands the suite a function that opens an empty one. What
// Memory holds ends with the process, so it cannot be opened again.
func ExampleStore() {
	_ = func(t *testing.T) {
		gatewaytest.Store(t, func(*testing.T) gateway.Store { return gateway.Memory() }, nil)
	}
}
