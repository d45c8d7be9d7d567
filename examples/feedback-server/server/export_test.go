package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// failingExporter is an exporter without its collector.
type failingExporter struct{ sdk.SpanExporter }

func (failingExporter) ExportSpans(context.Context, []sdk.ReadOnlySpan) error {
	return errors.New("connection refused")
}

func TestLostTracesAreLoggedOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		e := &loggedExporter{SpanExporter: failingExporter{}, log: slog.New(slog.NewTextHandler(&log, nil))}
		for range 601 { // in 10 minutes
			require.NoError(t, e.ExportSpans(t.Context(), make([]sdk.ReadOnlySpan, 3)))
			time.Sleep(time.Second)
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		require.Len(t, lines, 11)
		require.Contains(t, lines[0], "spans=3 ")
		require.Contains(t, lines[10], "spans=180 ")
		require.Contains(t, lines[10], "connection refused")
	})
}
