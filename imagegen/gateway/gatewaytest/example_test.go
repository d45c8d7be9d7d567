package gatewaytest_test

import (
	"testing"

	"lessonkit.example/imagegen/gateway"
	"lessonkit.example/imagegen/gateway/gatewaytest"
)

// The test of a store passes a function that opens an empty one. Memory cannot be reopened.
func ExampleStore() {
	_ = func(t *testing.T) {
		gatewaytest.Store(t, func(*testing.T) gateway.Store { return gateway.Memory() }, nil)
	}
}
