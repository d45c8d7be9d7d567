package service

import (
	"context"

	"lessonkit.example/internal/pgtest"
)

// postgres compares reads and a write with the bare handler, on one durable database.
func (b *bench) postgres(context.Context) {
	pg := pgtest.Start(&b.TB, pgtest.Options{Durable: true})
	ours := b.start(spec{Side: "ours", URL: pg.URL()})
	plain := b.start(spec{Side: "bare", URL: pg.URL()})
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
	} {
		b.compare(m.name+" on PostgreSQL", "bare handler", 0.75,
			side{ours, m.status, m.request}, side{plain, m.status, m.request})
	}
}
