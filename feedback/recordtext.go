package feedback

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strings"

	"github.com/google/uuid"
)

// RecordText returns a record and yields it as a document to keep, plain or in Markdown, in parts:
// the student and the date, the content and, if it comes from a session, what was said in its
// lessons. The sequence ends after its first error. Errors: [ErrNotFound].
func (s *Service) RecordText(
	ctx context.Context, teacher, id uuid.UUID, markdown bool,
) (Record, iter.Seq2[string, error], error) {
	r, err := s.store.Record(ctx, teacher, id)
	if err != nil {
		return r, nil, err
	}
	p, err := s.store.Profile(ctx, teacher, r.ProfileID)
	if err != nil {
		return r, nil, err
	}
	var session Session
	if r.SessionID.Valid {
		session, err = s.store.Session(ctx, teacher, r.SessionID.UUID)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return r, nil, err
		}
	}
	d := document{markdown: markdown, chinese: isChinese(r.Content)}
	return r, func(yield func(string, error) bool) {
		if !yield(d.heading(1, p.Name, r.Date)+d.text(r.Content), nil) {
			return
		}
		for _, l := range session.Lessons {
			title := fmt.Sprintf("Lesson %d", l.Number)
			if d.chinese {
				title = fmt.Sprintf("第%d节课", l.Number)
			}
			before := "\n" + d.heading(2, title, s.lessonDate(session, l))
			for g, err := range s.segments(ctx, teacher, l) {
				if said := g.said(); err != nil || said != "" {
					if !yield(before+d.text(said), err) || err != nil {
						return
					}
					before = ""
				}
			}
		}
	}, nil
}

// document writes text, plain or as Markdown.
type document struct{ markdown, chinese bool }

func (d document) heading(level int, title, date string) string {
	title += map[bool]string{true: "，", false: ", "}[d.chinese] + writtenDate(date, d.chinese)
	if d.markdown {
		return strings.Repeat("#", level) + " " + escapeInline(title) + "\n\n"
	}
	return title + "\n\n"
}

// text ends with a line break. In Markdown, each line remains one.
func (d document) text(s string) string {
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), "\n"), "\n")
	for i, line := range lines {
		if d.markdown && strings.TrimSpace(line) != "" {
			line = escapeInline(strings.TrimSpace(line))
			lines[i] = blockStart.ReplaceAllString(line, `$1\$2`) + "  "
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

var (
	// inline are the characters that mean something to Markdown anywhere (CommonMark 0.31).
	inline = regexp.MustCompile("[\\\\`*_\\[\\]<>&~|]")
	// blockStart matches what makes a line a heading, an item of a list, a rule or a title.
	blockStart = regexp.MustCompile(`^(\d*)([-+#=.)])`)
)

func escapeInline(s string) string { return inline.ReplaceAllString(s, `\$0`) }

// segments yields all segments of a lesson by sequence. It ends after its first error.
func (s *Service) segments(ctx context.Context, teacher uuid.UUID, l Lesson) iter.Seq2[Segment, error] {
	return func(yield func(Segment, error) bool) {
		page, more, after := l.Segments, l.Truncated, -1
		for {
			for _, g := range page {
				if after = g.Sequence; !yield(g, nil) {
					return
				}
			}
			if !more {
				return
			}
			var err error
			if page, more, err = s.store.Segments(ctx, teacher, l.ID, after, maxPageSize); err != nil {
				yield(Segment{}, err)
				return
			}
		}
	}
}
