package service

import (
	"lessonkit.example/internal/bench/harness"
	"lessonkit.example/internal/pgtest"
)

// postgres compares a read and a write with the bare handler, on one durable database.
func (b *bench) postgres() error {
	h := &harness.TB{}
	defer h.Release()
	pg := pgtest.Start(h, pgtest.Options{Durable: true})
	defer b.stopAll() // before the database stops
	ours, err := b.start("ours-postgres", spec{Side: "ours", URL: pg.URL()})
	if err != nil {
		return err
	}
	plain, err := b.start("bare", spec{Side: "bare", URL: pg.URL()})
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
		{"create", 201, createRecord(w)},
	} {
		if err := b.measure(m.name+" on PostgreSQL", "bare handler", 0.75, 0.9, connections,
			side{ours, m.status, m.request}, side{plain, m.status, m.request}); err != nil {
			return err
		}
	}
	return nil
}
