package feedbackclient

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Record is a saved feedback record.
type Record struct {
	ID        string    `json:"record_id"`
	ProfileID string    `json:"profile_id"`
	Date      string    `json:"feedback_date"` // YYYY-MM-DD
	Content   string    `json:"content"`
	SessionID string    `json:"feedback_session_id"` // "" if it comes from no session
	CreatedAt time.Time `json:"created_at"`

	AcademicYear int    `json:"academic_year"` // of the student when the record was saved; so the term
	Term         string `json:"term"`

	// ETag is the version, for [RecordEdit]; "" in lists.
	ETag string `json:"-"`
}

// RecordEdit replaces the date and the content of a record.
type RecordEdit struct {
	Date    string `json:"feedback_date"` // YYYY-MM-DD
	Content string `json:"content"`

	// IfMatch, if not "", is the ETag that the record must still have; else the edit is refused
	// with status 412.
	IfMatch string `json:"-"`
}

// RecordFilter selects records. All conditions must hold; a zero field is no condition.
type RecordFilter struct {
	ProfileID    string
	Query        string // words or parts of them, all in the content, ignoring case and width
	From, To     string // the first and the last day, YYYY-MM-DD
	AcademicYear int
	Term         string
}

// RecordInput holds the fields of a new record.
type RecordInput struct {
	ProfileID string `json:"profile_id"`
	Date      string `json:"feedback_date"` // YYYY-MM-DD
	Content   string `json:"content"`
	SessionID string `json:"feedback_session_id,omitempty"` // is completed

	// IdempotencyKey names the request: however often it is sent within a day, it creates one
	// record. If "", the call has a key of its own.
	IdempotencyKey string `json:"-"`
}

// Records lists records, newest first, of one student or of all if profileID is "". It ends after
// its first error.
func (c Client) Records(ctx context.Context, profileID string) iter.Seq2[Record, error] {
	return c.FindRecords(ctx, RecordFilter{ProfileID: profileID})
}

// FindRecords lists the records that a filter selects as Records does.
func (c Client) FindRecords(ctx context.Context, f RecordFilter) iter.Seq2[Record, error] {
	filter := map[string]string{
		"profile_id": f.ProfileID, "query": f.Query, "from": f.From, "to": f.To, "term": f.Term,
	}
	if f.AcademicYear != 0 {
		filter["academic_year"] = strconv.Itoa(f.AcademicYear)
	}
	return list[Record](ctx, c, path("/feedback-records"), filter)
}

// Record returns one record.
func (c Client) Record(ctx context.Context, id string) (Record, error) {
	return c.record(ctx, request{method: http.MethodGet, path: path("/feedback-records/%s", id), repeatable: true})
}

// EditRecord changes a record.
func (c Client) EditRecord(ctx context.Context, id string, e RecordEdit) (Record, error) {
	return c.record(ctx, edit(path("/feedback-records/%s", id), e, e.IfMatch))
}

func (c Client) record(ctx context.Context, r request) (record Record, err error) {
	record.ETag, err = c.decodeTagged(ctx, r, &record)
	return record, err
}

// CreateRecord creates a feedback record.
func (c Client) CreateRecord(ctx context.Context, in RecordInput) (record Record, err error) {
	r := jsonRequest(http.MethodPost, path("/feedback-records"), in)
	r.header.Set("Idempotency-Key", cmp.Or(in.IdempotencyKey, rand.Text()))
	r.repeatable = true
	return c.record(ctx, r)
}

// SaveRecord creates a feedback record, which completes its session.
func (c Client) SaveRecord(ctx context.Context, profileID, sessionID, date, content string) (Record, error) {
	return c.CreateRecord(ctx, RecordInput{ProfileID: profileID, Date: date, Content: content, SessionID: sessionID})
}

// DeleteRecord deletes one record.
func (c Client) DeleteRecord(ctx context.Context, id string) error {
	return c.Call(ctx, http.MethodDelete, path("/feedback-records/%s", id), nil, nil)
}

// RecordText downloads a record with what was said in its lessons, as plain text (format "txt") or
// Markdown ("md"). The caller closes it. Reading it fails if the server cannot complete it.
func (c Client) RecordText(ctx context.Context, id, format string) (io.ReadCloser, error) {
	return c.download(ctx, path("/feedback-records/%s/text", id)+"?"+url.Values{"format": {format}}.Encode())
}

// ReportRange selects the records of a report: by days, or by year and, unless "", term.
type ReportRange struct {
	From         string `json:"from,omitempty"` // YYYY-MM-DD
	To           string `json:"to,omitempty"`   // YYYY-MM-DD
	AcademicYear int    `json:"academic_year,omitempty"`
	Term         string `json:"term,omitempty"`
}

// Report is a text about a student over many lessons.
type Report struct {
	Text    string `json:"text"`    // as a message to the guardian
	Lessons int    `json:"lessons"` // of the sessions of the records
	Records int    `json:"records"`

	Sentences []ReportSentence `json:"sentences"` // of the text within the message

	Source       string   `json:"source"` // remote or local
	Warning      string   `json:"warning"`
	WarningCodes []string `json:"warning_codes"` // Warning for programs
}

// ReportSentence is a sentence of a report.
type ReportSentence struct {
	Text      string   `json:"text"`
	Records   []string `json:"records"`   // identifiers of the records that it comes from
	Supported bool     `json:"supported"` // false: it may be invented
}

// Report tells what changed for a student over a range.
func (c Client) Report(ctx context.Context, profileID string, in ReportRange) (r Report, err error) {
	return r, c.Call(ctx, http.MethodPost, path("/profiles/%s/report", profileID), in, &r)
}

// RecordMessage returns the text of a record as a message to the guardian, see [Defaults].
func (c Client) RecordMessage(ctx context.Context, id string) (string, error) {
	return c.message(ctx, path("/feedback-records/%s/message", id))
}

// SessionMessage returns the text that is being written in a session as a message to the guardian.
func (c Client) SessionMessage(ctx context.Context, id string) (string, error) {
	return c.message(ctx, path("/feedback-sessions/%s/message", id))
}

func (c Client) message(ctx context.Context, path string) (string, error) {
	var m struct {
		Text string `json:"text"`
	}
	err := c.Call(ctx, http.MethodGet, path, nil, &m)
	return m.Text, err
}
