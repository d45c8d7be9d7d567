package feedback

import (
	"encoding/base64"
	"encoding/json"

	"github.com/google/uuid"
)

// The bounds of [Page.Limit].
const (
	DefaultPageSize = 50
	MaxPageSize     = 200
)

// Page asks for a part of a list.
type Page struct {
	Limit  int    // 1 to 200; 0 means 50
	Cursor string // [List.NextCursor] of the page before; "" starts at the beginning
}

// List is a page of a list. Pages follow keys, not positions: what is added or
// deleted meanwhile shifts nothing.
type List[T any] struct {
	Items      []T
	NextCursor string // "" on the last page
}

// cursor is the key of the last item of a page. Its form is our own business.
type cursor struct {
	List string    `json:"l"` // which list it belongs to
	Key  []string  `json:"k"`
	ID   uuid.UUID `json:"i"`
}

func (c cursor) String() string {
	b, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings and an identifier always marshal
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseCursor(s, list string, keys int) (*cursor, error) {
	if s == "" {
		return nil, nil
	}
	var c cursor
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil || c.List != list || len(c.Key) != keys {
		return nil, Invalid("cursor", "is not a next_cursor of this list")
	}
	var v validator
	for _, k := range c.Key {
		v.characters("cursor", k, "")
	}
	return &c, v.err()
}

func (p Page) limit() (int, error) {
	if p.Limit == 0 {
		return DefaultPageSize, nil
	}
	if p.Limit < 1 || p.Limit > MaxPageSize {
		return 0, Invalid("limit", "is %d; must be 1 to %d", p.Limit, MaxPageSize)
	}
	return p.Limit, nil
}

// cut makes a page of items of which one more than asked for was read.
func cut[T any](items []T, limit int, key func(T) cursor) List[T] {
	if len(items) <= limit {
		return List[T]{Items: items}
	}
	items = items[:limit]
	return List[T]{Items: items, NextCursor: key(items[limit-1]).String()}
}
