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
	} else {
		t.Logf("%s: %v, %d MiB", what, taken.Round(time.Millisecond), grown>>20)
	}
}

// Limited fails the test if a function takes more than two seconds of processor time, or allocates
// more than 256 MiB in all. It is stricter about memory than [Bounded], and much faster itself: it
// is for fuzz targets, whose inputs are small.
func Limited(t testing.TB, f func()) {
	t.Helper()
	began, allocated := spent(), sample("/gc/heap/allocs:bytes")
	f()
	if taken := spent() - began; taken > mostTime*slowdown {
		t.Errorf("takes %v, more than %v", taken.Round(time.Millisecond), mostTime*slowdown)
	}
	if grown := sample("/gc/heap/allocs:bytes") - allocated; grown > mostMemory*slowdown {
		t.Errorf("allocates %d MiB, more than %d", grown>>20, mostMemory*slowdown>>20)
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

func heap() uint64 { return sample("/memory/classes/heap/objects:bytes") }

func sample(name string) uint64 {
	samples := []metrics.Sample{{Name: name}}
	metrics.Read(samples)
	return samples[0].Value.Uint64()
}
