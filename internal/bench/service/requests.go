package service

import (
	"bytes"
	"encoding/binary"
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

// message returns an HTTP request, in one part unless its body is in several.
func message(method, path, token, contentType string, body ...[]byte) net.Buffers {
	var b bytes.Buffer
	b.WriteString(method + " " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token + "\r\n")
	if body != nil {
		size := 0
		for _, part := range body {
			size += len(part)
		}
		fmt.Fprintf(&b, "Content-Type: %s\r\nContent-Length: %d\r\n", contentType, size)
	}
	b.WriteString("\r\n")
	if len(body) == 1 {
		b.Write(body[0])
		body = nil
	}
	return append(net.Buffers{b.Bytes()}, body...)
}

// beginning is the size of the part in which recordings differ.
const beginning = 4096

// recording returns content that is detected as mp3, is unique, and ends in end.
func recording(r *rand.Rand, end []byte) [][]byte {
	begin := make([]byte, beginning)
	for i := 0; i < len(begin); i += 8 {
		binary.LittleEndian.PutUint64(begin[i:], r.Uint64())
	}
	copy(begin, "\xff\xfb\x90\x64")
	return [][]byte{begin, end}
}

const (
	boundary = "----bench"
	formType = "multipart/form-data; boundary=" + boundary
)

// form returns a form with a recording, as a phone sends it.
func form(fields map[string]string, file [][]byte) [][]byte {
	var head bytes.Buffer
	for name, value := range fields {
		fmt.Fprintf(&head, "--%s\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", boundary, name, value)
	}
	fmt.Fprintf(&head, "--%s\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x.mp3\"\r\n"+
		"Content-Type: audio/mpeg\r\n\r\n", boundary)
	parts := append([][]byte{head.Bytes()}, file...)
	return append(parts, []byte("\r\n--"+boundary+"--\r\n"))
}
