package service

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
)

// get returns requests for a path that may contain a student of the teacher. They are built once.
func get(w world, path func(profile string) string) request {
	var messages [][]byte
	for t, token := range w.Tokens {
		for _, profile := range w.Profiles[t] {
			messages = append(messages, message("GET", path(profile), token, "")[0])
		}
	}
	return func(r *rand.Rand, _ int) net.Buffers { return net.Buffers{messages[r.IntN(len(messages))]} }
}

const collections = "/api/collections/"

func profilePath(id string) string      { return "/api/v1/profiles/" + id }
func listPath(string) string            { return "/api/v1/feedback-records" }
func filterPath(profile string) string  { return "/api/v1/feedback-records?profile_id=" + profile }
func segmentsPath(lesson string) string { return "/api/v1/feedback-lessons/" + lesson + "/segments" }
func pocketProfile(id string) string    { return collections + "profiles/records/" + id }
func pocketSegments(string) string      { return collections + "segments/records" }
func pocketFilter(profile string) string {
	return pocketList("") + "&filter=" + url.QueryEscape("profile='"+profile+"'")
}

// pocketList does not count all records, as ours does not.
func pocketList(string) string {
	return collections + "records/records?perPage=50&skipTotal=1&sort=-feedback_date,-created"
}

// createRecord returns requests to our API that create records.
func createRecord(w world) request {
	return func(r *rand.Rand, n int) net.Buffers {
		token, profile := w.any(r)
		return message("POST", listPath(""), token, "application/json",
			fmt.Appendf(nil, `{"profile_id":%q,"feedback_date":%q,"content":%q,"feedback_session_id":null}`,
				profile, date(n), content(n)))
	}
}

func pocketCreate(w world) request {
	return func(r *rand.Rand, n int) net.Buffers {
		t := r.IntN(len(w.Tokens))
		return message("POST", collections+"records/records", w.Tokens[t], "application/json",
			fmt.Appendf(nil, `{"owner":%q,"profile":%q,"feedback_date":%q,"content":%q}`,
				w.Owners[t], w.Profiles[t][r.IntN(profilesOf)], date(n), content(n)))
	}
}

// uploadForm returns uploads of recordings as a phone sends them.
func uploadForm(w world, path func(lesson string) string, fields func(teacher int) map[string]string) request {
	end := make([]byte, uploadSize-beginning)
	return func(r *rand.Rand, _ int) net.Buffers {
		t := r.IntN(len(w.Tokens))
		return message("POST", path(w.Lessons[t]), w.Tokens[t], formType, form(fields(t), recording(r, end))...)
	}
}

func (b *bench) peer(context.Context) error {
	ours, err := b.start(spec{Side: "ours"})
	if err != nil {
		return err
	}
	normal, err := b.start(spec{Side: "pocketbase"})
	if err != nil {
		return err
	}
	full, err := b.start(spec{Side: "pocketbase", Full: true})
	if err != nil {
		return err
	}
	for _, m := range []struct {
		name         string
		must, aim    float64
		ours, theirs side
	}{
		{"read one", 3.5, 4, side{ours, 200, get(ours.world, profilePath)},
			side{normal, 200, get(normal.world, pocketProfile)}},
		{"list 50", 3.5, 4, side{ours, 200, get(ours.world, listPath)},
			side{normal, 200, get(normal.world, pocketList)}},
		{"filtered list", 3, 3.5, side{ours, 200, get(ours.world, filterPath)},
			side{normal, 200, get(normal.world, pocketFilter)}},
		{"create, FULL against NORMAL", 1.2, 2.2, side{ours, 201, createRecord(ours.world)},
			side{normal, 200, pocketCreate(normal.world)}},
		{"create, both FULL", 1.5, 3, side{ours, 201, createRecord(ours.world)},
			side{full, 200, pocketCreate(full.world)}},
	} {
		if err := b.measure(m.name, "PocketBase", m.must, m.aim, m.ours, m.theirs); err != nil {
			return err
		}
	}
	return nil
}

// peerUpload compares uploads. PocketBase does not sync files.
func (b *bench) peerUpload(context.Context) error {
	ours, err := b.start(spec{Side: "ours"})
	if err != nil {
		return err
	}
	normal, err := b.start(spec{Side: "pocketbase"})
	if err != nil {
		return err
	}
	return b.alternateUploads("upload of 2 MB, ours synced", "PocketBase", 1.2, 2, uploadSize,
		side{ours, 202, uploadForm(ours.world, segmentsPath, func(int) map[string]string { return nil })},
		side{normal, 200, uploadForm(normal.world, pocketSegments, func(t int) map[string]string {
			return map[string]string{"owner": normal.Owners[t], "lesson": normal.Lessons[t]}
		})})
}
