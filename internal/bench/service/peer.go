package service

import (
	"context"

	"lessonkit.example/internal/pgtest"
)

func (b *bench) peer(context.Context) {
	ours := b.start(spec{Side: "ours"})
	normal := b.start(spec{Side: "pocketbase"})
	full := b.start(spec{Side: "pocketbase", Full: true})
	for _, m := range []struct {
		name         string
		must         float64
		ours, theirs side
	}{
		{"read one", 3, side{ours, 200, get(ours.world, profilePath)},
			side{normal, 200, get(normal.world, pocketProfile)}},
		{"list 50", 3, side{ours, 200, get(ours.world, listPath)},
			side{normal, 200, get(normal.world, pocketList)}},
		{"filtered list", 3, side{ours, 200, get(ours.world, filterPath)},
			side{normal, 200, get(normal.world, pocketFilter)}},
		// A record of ours is added to the index of the search; PocketBase has none.
		{"create, FULL against NORMAL", 0.7, side{ours, 201, createRecord(ours.world)},
			side{normal, 200, pocketCreate(normal.world)}},
		{"create, both FULL", 1, side{ours, 201, createRecord(ours.world)},
			side{full, 200, pocketCreate(full.world)}},
	} {
		b.compare(m.name, "PocketBase", m.must, m.ours, m.theirs)
	}
}

// peerUpload compares uploads. PocketBase does not sync files.
func (b *bench) peerUpload(context.Context) {
	ours := b.start(spec{Side: "ours"})
	normal := b.start(spec{Side: "pocketbase"})
	b.alternateUploads("upload of 2 MB, ours synced", "PocketBase", 1.2, uploadSize,
		side{ours, 202, uploadForm(ours.world, segmentsPath, func(int) map[string]string { return nil })},
		side{normal, 200, uploadForm(normal.world, pocketSegments, func(t int) map[string]string {
			return map[string]string{"owner": normal.Owners[t], "lesson": normal.Lessons[t]}
		})})
}

// postgres compares a read and a write with the bare handler, on one durable database.
func (b *bench) postgres(context.Context) {
	pg := pgtest.Start(&b.TB, pgtest.Options{Durable: true})
	ours := b.start(spec{Side: "ours", URL: pg.URL()})
	plain := b.start(spec{Side: "bare", URL: pg.URL()})
	read, create := get(ours.world, profilePath), createRecord(ours.world)
	const peer, must = "bare handler", 0.75
	b.compare("read one on PostgreSQL", peer, must, side{ours, 200, read}, side{plain, 200, read})
	b.compare("create on PostgreSQL", peer, must, side{ours, 201, create}, side{plain, 201, create})
}
