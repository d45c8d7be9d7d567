package jobqueue

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var errEnd = errors.New("the end")

// look returns what anybody can find out about a context that has ended or not.
func look(ctx context.Context) []any {
	done := false
	select {
	case <-ctx.Done():
		done = true
	default:
	}
	deadline, ok := ctx.Deadline()
	return []any{done, ctx.Err(), context.Cause(ctx), deadline, ok}
}

// A lazyContext behaves like the standard contexts that it replaces, whoever ends which of them and
// whoever looks at which of them first.
func TestLazyContextIsLikeTheStandardOnes(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	synctest.Test(t, func(t *testing.T) {
		for range 2000 {
			compareWithStandard(t, random)
		}
	})
}

func compareWithStandard(t *testing.T, random *rand.Rand) {
	const timeout = 10 * time.Second
	deadline := time.Now().Add(timeout)
	var ends [3][2]context.CancelCauseFunc // of the root and two layers, each of both sides
	var layers [2][2]context.Context
	endless := random.IntN(2) == 0 // the root, like the parent of all attempts
	for side := range 2 {
		root, end := context.WithCancelCause(t.Context())
		ends[0][side] = end
		if endless {
			root = context.WithoutCancel(root)
		}
		if side == 0 {
			first := &lazyContext{parent: root}
			second := &lazyContext{parent: context.WithValue(first, contextKey{}, 1), deadline: deadline}
			layers[0][side], layers[1][side], ends[1][side], ends[2][side] = first, second, first.end, second.end
			continue
		}
		first, end := context.WithCancelCause(root)
		second, stop := context.WithDeadlineCause(context.WithValue(first, contextKey{}, 1), deadline, ErrTimeout)
		layers[0][side], layers[1][side], ends[1][side] = first, second, end
		ends[2][side] = func(error) { stop() }
	}
	compare := func(nodes []int) {
		synctest.Wait()
		for _, i := range nodes {
			require.Equal(t, look(layers[i][1]), look(layers[i][0]), "layer %d", i)
			require.Equal(t, layers[i][1].Value(contextKey{}), layers[i][0].Value(contextKey{}))
		}
	}
	for range 6 {
		switch i := random.IntN(3); random.IntN(3) {
		case 0:
			time.Sleep(timeout / 5 * time.Duration(1+random.IntN(3)))
			synctest.Wait()
		case 1:
			if layers[1][1].Err() != nil { // which of several reasons came first is not known afterwards
				compare(random.Perm(2))
			}
			cause := []error{nil, errEnd}[random.IntN(2)]
			if i == 2 {
				cause = nil
			}
			ends[i][0](cause)
			ends[i][1](cause)
		case 2:
			compare(random.Perm(2)[:random.IntN(3)])
		}
	}
	compare(random.Perm(2))
	for _, end := range ends {
		end[0](nil)
		end[1](nil)
	}
	compare(random.Perm(2))
}

func TestLazyContextIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	for range 100 {
		outer := &lazyContext{parent: context.Background()}
		inner := &lazyContext{parent: outer, deadline: time.Now().Add(time.Hour)}
		var wg sync.WaitGroup
		for _, f := range []func(){
			func() { <-inner.Done() }, func() { <-outer.Done() },
			func() { outer.end(errEnd) }, func() { outer.end(errEnd) },
			func() { _ = inner.Err() }, func() { inner.Value(contextKey{}) },
			func() {
				derived, cancel := context.WithCancel(inner)
				defer cancel()
				<-derived.Done()
			},
		} {
			wg.Go(f)
		}
		wg.Wait()
		require.Equal(t, errEnd, context.Cause(inner))
		inner.end(nil)
		require.Equal(t, errEnd, context.Cause(inner))
	}
}
