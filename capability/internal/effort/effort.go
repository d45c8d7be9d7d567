// Package effort limits the time and the memory that a test may take for hostile input.
package effort

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

// The limits of what one input may take. The race detector multiplies both.
const (
	mostTime   = 2 * time.Second
	mostMemory = 256 << 20
)

// Bounded fails the test if a function takes more than two seconds of processor time, or if the
// heap grows by more than 256 MiB meanwhile. Tests that call it must not be parallel, as all of the
// process counts.
func Bounded(t testing.TB, what string, f func()) {
	t.Helper()
	taken, grown := measure(f)
	if taken > mostTime*slowdown || grown > mostMemory*slowdown {
		t.Errorf("%s: takes %v and %d MiB, more than %v or %d MiB", what, taken.Round(time.Millisecond), grown>>20,
			mostTime*slowdown, mostMemory*slowdown>>20)
	} else if taken > mostTime/4 || grown > mostMemory/4 {
		t.Logf("%s: %v, %d MiB", what, taken.Round(time.Millisecond), grown>>20)
	}
}

// measure returns how long a function takes and the most that the heap holds beyond what it held
// before, garbage that was not collected yet included.
func measure(f func()) (time.Duration, uint64) {
	runtime.GC()
	start := heap()
	most := start
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
				most = max(most, heap())
			}
		}
	}()
	began := spent()
	f()
	taken := spent() - began
	close(done)
	<-stopped
	return taken, max(most, heap()) - start
}

func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
