package service

import (
	"context"
	"lessonkit.example/internal/pgtest"
	"math/rand/v2"
	"net"
)

const profileBody = `{"name":"student","grade":"3","subject":"Art","academic_year":2026,"term":"spring",` +
	`"guardian_title":"mother","start_time":"09:00","end_time":"10:30"}`

// postgres compares reads and writes with the bare handler, on one durable database.
func (b *bench) postgres(context.Context) error {
	pg := pgtest.Start(&b.TB, pgtest.Options{Durable: true})
	ours, err := b.start(spec{Side: "ours", URL: pg.URL()})
	if err != nil {
		return err
	}
	plain, err := b.start(spec{Side: "bare", URL: pg.URL()})
	if err != nil {
		return err
	}
	w := ours.world
	for _, m := range []struct {
		name   string
		status int
		request
	}{
		{"read one", 200, get(w, profilePath)},
		{"list 50", 200, get(w, listPath)},
		{"filtered list", 200, get(w, filterPath)},
		{"create", 201, createRecord(w)},
		{"replace", 200, func(r *rand.Rand, _ int) net.Buffers {
			token, profile := w.any(r)
			return message("PUT", profilePath(profile), token, "application/json", []byte(profileBody))
		}},
	} {
		if err := b.measure(m.name+" on PostgreSQL", "bare handler", 0.75, 0.9,
			side{ours, m.status, m.request}, side{plain, m.status, m.request}); err != nil {
			return err
		}
	}
	return nil
}
