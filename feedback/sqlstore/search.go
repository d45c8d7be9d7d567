package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/db"
)

// foldText normalizes text for searches that ignore case, the width of characters and their
// encoding.
func foldText(s string) string {
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s)))
}

// longer returns a text, or what is stored for searches if that is longer: a letter of three bytes
// may stand for 33.
func longer(s string) string {
	if folded := foldText(s); len(folded) > len(s) {
		return folded
	}
	return s
}

var likeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// contains returns the condition that a folded column contains a text.
func contains(a *args, column, text string) string {
	return column + ` like ` + a.add("%"+likeEscaper.Replace(foldText(text))+"%") + ` escape '\'`
}

// newest is how many of the newest records a search reads before it uses the index of pairs. What
// many records contain is found among them, and what they do not contain is rare.
const newest = 1000

// searchTimeout is how long a search may take, which is a few milliseconds for what people write,
// and how long it waits for another one.
const searchTimeout = 3 * time.Second

// search returns the records that a filter with a query selects. Texts can be made in which some
// words take minutes to find, so a search ends after some time, and on SQLite, which has few
// readers, one runs at a time.
func (s *Store) search(
	ctx context.Context, teacher uuid.UUID, f feedback.RecordFilter, after *feedback.RecordKey, limit int,
) (items []feedback.Record, more bool, err error) {
	if s.db.Engine == db.SQLite {
		waiting, cancel := context.WithTimeout(ctx, s.searchTimeout)
		defer cancel()
		if err := s.searching.Acquire(waiting, 1); err != nil {
			return nil, false, err // the database is busy, unless ctx has ended
		}
		defer s.searching.Release(1)
	}
	conn, err := s.db.R.Conn(ctx) // not within the limit: the query is not why that takes long
	if err != nil {
		return nil, false, err
	}
	defer conn.Close()
	limited, cancel := context.WithTimeout(ctx, s.searchTimeout)
	defer cancel()
	for _, ids := range []func(*args, uuid.UUID, feedback.RecordFilter, *feedback.RecordKey) string{
		amongNewest, s.byPairs,
	} {
		var a args
		query := `select ` + recordColumns + ` from feedback_records where record_id in (` + // contents are not sorted
			ids(&a, teacher, f, after) + newestFirst + ` limit ` + a.add(limit+1) + `)` + newestFirst
		items, more, err = upTo(limited, conn, limit, scanRecord(teacher), sizeOfRecord, query, a...)
		if more || err != nil {
			break
		}
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		err = ctx.Err()
	case limited.Err() != nil:
		err = feedback.Invalid("query", "takes too long to find; use other words, or name a student or days")
	}
	return items, more, err
}

func amongNewest(a *args, teacher uuid.UUID, f feedback.RecordFilter, after *feedback.RecordKey) string {
	return `select record_id from (
		select record_id, feedback_date, created_at, content_folded
		from feedback_records where ` + recordsWhere(a, teacher, f) + recordsAfter(a, after) +
		newestFirst + ` limit ` + a.add(newest) + `) n
		where ` + containsAll(a, f.Query)
}

// containsAll returns the condition that the content of a record contains all words of a query.
func containsAll(a *args, query string) string {
	var conditions []string
	for _, word := range strings.Fields(foldText(query)) {
		conditions = append(conditions, contains(a, "content_folded", word))
	}
	return strings.Join(conditions, " and ")
}

// byPairs finds the records that have every pair of characters of each word of the query, which few
// have without having the words.
func (s *Store) byPairs(a *args, teacher uuid.UUID, f feedback.RecordFilter, after *feedback.RecordKey) string {
	query := `select record_id from feedback_records where `
	hashes := ""
	for _, word := range strings.Fields(foldText(f.Query)) {
		single := utf8.RuneCountInString(word) == 1
		if s.db.Engine == db.SQLite {
			hashes += hashPairs(teacher, word, single)
			continue
		}
		query += `feedback_pairs(teacher_id, content_folded, true)
			@> feedback_pairs(` + a.add(teacher) + `, ` + a.add(word) + `, ` + a.add(single) + `) and `
	}
	if s.db.Engine == db.SQLite {
		query = `select record_id from feedback_record_pairs cross join feedback_records
			on number = feedback_record_pairs.rowid
			where feedback_record_pairs match ` + a.add(hashes) + ` and `
	}
	return query + recordsWhere(a, teacher, f) + recordsAfter(a, after) + ` and ` + containsAll(a, f.Query)
}

// hashPairs returns the pairs of the characters of a text, and the characters if singles, each as
// the start of a hash with the teacher: that keeps the lists of one teacher's records apart from
// those of others.
func hashPairs(teacher uuid.UUID, folded string, singles bool) string {
	var list strings.Builder
	seen := map[string]bool{}
	add := func(characters string) {
		if !seen[characters] {
			seen[characters] = true
			sum := sha256.Sum256(append(teacher[:], characters...))
			list.WriteString(hex.EncodeToString(sum[:5]))
			list.WriteByte(' ')
		}
	}
	for rest := folded; rest != ""; {
		_, first := utf8.DecodeRuneInString(rest)
		_, second := utf8.DecodeRuneInString(rest[first:])
		if singles {
			add(rest[:first])
		}
		if second > 0 {
			add(rest[:first+second])
		}
		rest = rest[first:]
	}
	return list.String()
}

// indexRecord makes the content of a record found on SQLite. PostgreSQL does so by itself.
func (s *Store) indexRecord(ctx context.Context, tx *sql.Tx, r feedback.Record) error {
	if s.db.Engine == db.Postgres {
		return nil
	}
	_, err := tx.ExecContext(ctx, `
		insert or replace into feedback_record_pairs (rowid, pairs)
		select number, $2 from feedback_records where record_id = $1`,
		r.ID, hashPairs(r.TeacherID, foldText(r.Content), true))
	return err
}
