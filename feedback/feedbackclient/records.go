package feedbackclient

import (
	"cmp"
	"context"
	"crypto/rand"
	"iter"
	"net/http"
	"net/url"
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
	query := url.Values{"limit": {pageSize}}
	if profileID != "" {
		query.Set("profile_id", profileID)
	}
	return list[Record](ctx, c, path("/feedback-records"), query)
}

// CreateRecord creates a feedback record.
func (c Client) CreateRecord(ctx context.Context, in RecordInput) (record Record, err error) {
	r := jsonRequest(http.MethodPost, path("/feedback-records"), in)
	r.header.Set("Idempotency-Key", cmp.Or(in.IdempotencyKey, rand.Text()))
	r.repeatable = true
	return record, c.decode(ctx, r, &record)
}

// SaveRecord creates a feedback record, which completes its session.
func (c Client) SaveRecord(ctx context.Context, profileID, sessionID, date, content string) (Record, error) {
	return c.CreateRecord(ctx, RecordInput{ProfileID: profileID, Date: date, Content: content, SessionID: sessionID})
}

// DeleteRecord deletes one record.
func (c Client) DeleteRecord(ctx context.Context, id string) error {
	return c.Call(ctx, http.MethodDelete, path("/feedback-records/%s", id), nil, nil)
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
