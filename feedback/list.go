package feedback

import (
	"cmp"
	"encoding/base64"
	"encoding/json"

	"github.com/google/uuid"
)

const (
	defaultPageSize = 50
	maxPageSize     = 200
)

// MaxPageText limits the texts in an answer, in bytes: a page with more ends early, after at least
// one item, and a session or a lesson is read without some of its segments.
const MaxPageText = 256 << 10

// Page selects a part of a list, which may end before Limit, see [MaxPageText].
type Page struct {
	Limit  int    // 1 to 200; 0 means 50
	Cursor string // [List.NextCursor] of the previous page; "" for the first page
}

// List is a page of a list. The next page starts after the last item's key, so that items added or
// deleted in between are neither skipped nor repeated.
type List[T any] struct {
	Items      []T
	NextCursor string // "" on the last page
}

// cursor is the key of the last item of a page. Its form is not part of the API.
type cursor struct {
	List string    `json:"l"` // which list it belongs to
	Key  []string  `json:"k"`
	ID   uuid.UUID `json:"i"`
}

func (c cursor) String() string {
	b, _ := json.Marshal(c) // strings and an identifier always marshal
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

// parse returns how many items the page has, and the key after which it starts, or nil.
func (p Page) parse(list string, keys int) (limit int, after *cursor, err error) {
	limit = cmp.Or(p.Limit, defaultPageSize)
	if limit < 1 || limit > maxPageSize {
		return 0, nil, Invalid("limit", "is %d; must be 1 to %d", limit, maxPageSize)
	}
	after, err = parseCursor(p.Cursor, list, keys)
	return limit, after, err
}

// listOf returns a page of items; more means that there is a next page.
func listOf[T any](items []T, more bool, key func(T) cursor) List[T] {
	list := List[T]{Items: items}
	if more {
		list.NextCursor = key(items[len(items)-1]).String()
	}
	return list
}
