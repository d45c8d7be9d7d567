package feedback

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// MaxWords is how many words of one teacher are kept.
const MaxWords = 200

// Words returns the names and terms that transcribers should expect in the teacher's recordings,
// besides the student's name and the subject: those that the teacher has saved, and those that
// records have corrected, see [Service.CreateRecord]. The most recently used come first.
func (s *Service) Words(ctx context.Context, teacher uuid.UUID) ([]string, error) {
	return s.store.Words(ctx, teacher)
}

// SaveWords replaces the teacher's words and returns them, trimmed and without repetitions. There
// are at most [MaxWords], each of 1 to 100 characters. The first ones are the most important: they
// stay longest, and transcribers that take few words get these. Errors: [ErrInvalid].
func (s *Service) SaveWords(ctx context.Context, teacher uuid.UUID, words []string) ([]string, error) {
	var v validator
	if len(words) > MaxWords {
		e := v.fail("words", "has %d words; at most %d are allowed", len(words), MaxWords)
		e.Code, e.Limit = "too_many", MaxWords
	}
	saved := []string{}
	for i, word := range words {
		valid := len(v.fields)
		word = v.name(fmt.Sprintf("words[%d]", i), word)
		for ; valid < len(v.fields); valid++ {
			v.fields[valid].Line = i + 1
		}
		if !slices.Contains(saved, word) {
			saved = append(saved, word)
		}
	}
	if err := v.err(); err != nil {
		return nil, err
	}
	if err := s.checkText(ctx, teacher); err != nil {
		return nil, err
	}
	return saved, s.store.SaveWords(ctx, teacher, saved, s.now())
}

// learn adds the words that a record, or an edited text, corrects in what was recognised and
// summarized in its session, and marks those as used that it contains.
func (s *Service) learn(ctx context.Context, teacher, record uuid.UUID) error {
	r, err := s.store.Record(ctx, teacher, record)
	if err != nil || !r.SessionID.Valid {
		return err
	}
	session, err := s.store.Session(ctx, teacher, r.SessionID.UUID)
	if err != nil {
		return err
	}
	words, err := s.store.Words(ctx, teacher)
	if err != nil {
		return err
	}
	recognised := []string{session.GeneratedText}
	var used []string
	for _, l := range session.Lessons {
		text := l.lines(func(g Segment) string { return g.Text })
		recognised = append(recognised, text)
		if edited := l.Transcript(); edited != text {
			found, err := corrections(ctx, []string{text}, edited)
			if err != nil {
				return err
			}
			used = append(used, found...)
		}
	}
	found, err := corrections(ctx, recognised, r.Content)
	if err != nil {
		return err
	}
	used = append(used, found...)
	for _, word := range words {
		if strings.Contains(r.Content, word) && !slices.Contains(used, word) {
			used = append(used, word)
		}
	}
	if len(used) == 0 {
		return nil
	}
	return s.store.UseWords(ctx, teacher, r.ProfileID, used[:min(len(used), MaxWords)], s.now())
}
