package summary

import (
	"cmp"
	"context"
	_ "embed"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/internal/evidence"
)

//go:embed report.txt
var reportPrompt string

// The length of a report made of sentences of the records.
const (
	shortReport   = 250 // words of records that are told whole
	maxChanges    = 5   // pairs of what was and what is
	maxMilestones = 5
	maxNow        = 3    // sentences of the newest record
	maxCompared   = 400  // sentences of the oldest and of the newest
	minAlike      = 0.15 // similarity of two sentences on the same thing
	maxAlike      = 0.95 // of two that say the same
)

// said is a sentence of a record.
type said struct {
	text   string
	record int
	terms  map[string]float64 // with their weights; a unit vector
	told   bool
}

// report returns a text on what changed over the records, in their own sentences: what the oldest
// third and the newest third say about the same things, what was reached between them, and the
// newest, each with its day.
func (l Local) report(ctx context.Context, in feedback.SummaryInput) (string, error) {
	var all []*said
	words, wide := 0, 0
	names := strings.Fields(in.Student)
	for _, wanted := range [][]place{{inLesson}, {inHomework, inNotices}} {
		for i, record := range in.Lessons {
			if err := ctx.Err(); err != nil {
				return "", err
			}
			for _, p := range pieces(parse(record.Text), i) {
				for _, s := range parts(p.words, sentence) {
					text := write(s, names)
					if slices.Contains(wanted, p.place) || p.place == inNotices && achievements(text) > 1 {
						all = append(all, &said{text: text, record: i})
						words += countWords(text)
						if s[0].wide {
							wide++
						}
					}
				}
			}
		}
		if len(all) > 0 { // else the records are nothing but homework
			break
		}
	}
	if len(all) == 0 {
		return "", errNoWords
	}
	days := daysOf(in.Lessons, 2*wide > len(all))
	if words <= shortReport || len(in.Lessons) < 3 {
		return dated(all, days), nil
	}
	all = withoutPhrases(all, len(in.Lessons))
	weigh(all, in.Student)
	paragraphs := changes(all, len(in.Lessons), days)
	add := func(more []*said) {
		if text := dated(more, days); text != "" {
			paragraphs = append(paragraphs, text)
		}
	}
	add(milestones(all, len(in.Lessons)))
	add(newest(all))
	return strings.Join(paragraphs, "\n\n"), nil
}

// daysOf returns how the day of each record is written before a sentence, with the year if there
// are several.
func daysOf(records []feedback.SummaryLesson, wide bool) []string {
	layout := map[bool]string{true: "1月2日：", false: "2 January: "}[wide]
	year := func(r feedback.SummaryLesson) string { return r.Date[:min(len("2006"), len(r.Date))] }
	if year(records[0]) != year(records[len(records)-1]) {
		layout = map[bool]string{true: "2006年1月2日：", false: "2 January 2006: "}[wide]
	}
	days := make([]string, len(records))
	for i, r := range records {
		if t, err := time.Parse(time.DateOnly, r.Date); err == nil {
			days[i] = t.Format(layout)
		}
	}
	return days
}

// dated returns sentences in the order of their records, a line for each day, and marks them as
// told.
func dated(sentences []*said, days []string) string {
	var lines []string
	last := -1
	slices.SortStableFunc(sentences, func(a, b *said) int { return cmp.Compare(a.record, b.record) })
	for _, s := range sentences {
		s.told = true
		if s.record == last {
			lines[len(lines)-1] += space(lines[len(lines)-1], s.text) + s.text
			continue
		}
		last = s.record
		lines = append(lines, days[s.record]+s.text)
	}
	return strings.Join(lines, "\n")
}

// withoutPhrases leaves out what is said in the oldest third of the records and in the newest, word
// for word: nothing has changed.
func withoutPhrases(all []*said, records int) []*said {
	old, now := map[string]bool{}, map[string]bool{}
	for _, s := range all {
		old[s.text] = old[s.text] || 3*s.record < records
		now[s.text] = now[s.text] || 3*s.record >= 2*records
	}
	rest := slices.DeleteFunc(slices.Clone(all), func(s *said) bool { return old[s.text] && now[s.text] })
	if len(rest) == 0 {
		return all
	}
	return rest
}

// weigh gives each sentence its terms: rare ones count more, and the name not at all.
func weigh(all []*said, student string) {
	names := evidence.Terms(student)
	frequency := map[string]float64{}
	different := map[string]bool{}
	for _, s := range all {
		s.terms = evidence.Terms(s.text)
		if different[s.text] {
			continue
		}
		different[s.text] = true
		for term := range s.terms {
			frequency[term]++
		}
	}
	for _, s := range all {
		square := 0.0
		for term, weight := range s.terms {
			weight *= math.Log(1 + float64(len(different))/frequency[term])
			if names[term] > 0 {
				weight = 0
			}
			s.terms[term] = weight
			square += weight * weight
		}
		for term := range s.terms {
			s.terms[term] /= max(math.Sqrt(square), 1e-9)
		}
	}
}

// similarity returns 1 for sentences with the same terms, and 0 for those without a common one.
func similarity(a, b *said) (sum float64) {
	for term, weight := range a.terms {
		sum += weight * b.terms[term]
	}
	return math.Round(sum*1e6) / 1e6 // whatever the order of the terms
}

// changes returns a paragraph for each thing that both the oldest and the newest third of the
// records speak of: what was said first, and what was said last.
func changes(all []*said, records int, days []string) (paragraphs []string) {
	type pair struct {
		old, now   *said
		similarity float64
	}
	var pairs []pair
	for _, now := range all[max(0, len(all)-maxCompared):] {
		if 3*now.record < 2*records {
			continue
		}
		for _, old := range all[:min(maxCompared, len(all))] {
			if 3*old.record >= records {
				break
			}
			if a := similarity(old, now); a >= minAlike && a <= maxAlike {
				pairs = append(pairs, pair{old, now, a})
			}
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.similarity, a.similarity), cmp.Compare(a.old.record, b.old.record),
			cmp.Compare(b.now.record, a.now.record))
	})
	var chosen []pair
	for _, p := range pairs {
		told := slices.ContainsFunc(chosen, func(c pair) bool {
			return similarity(c.old, p.old) >= minAlike || similarity(c.now, p.now) >= minAlike
		})
		if !told && len(chosen) < maxChanges {
			chosen = append(chosen, p)
		}
	}
	slices.SortStableFunc(chosen, func(a, b pair) int { return cmp.Compare(a.old.record, b.old.record) })
	for _, p := range chosen {
		paragraphs = append(paragraphs, dated([]*said{p.old, p.now}, days))
	}
	return paragraphs
}

// reached matches what was reached: something new, an examination, a performance.
var reached = regexp.MustCompile(`(?i)第一次|首次|终于|学会|掌握|通过了|考级|比赛|演出|音乐会|获得|得了|进步|突破|完成了|` +
	`\bfirst time|\bfinally|\bfor the first|\bcan now|\bnow (he|she|they) can|\bpassed|\bmastered|\blearn(t|ed) to|` +
	`\bimproved|\bbreakthrough|\bperformed|\bexam\b|\bcompetition|\bconcert|\bwon\b|\bfinished|\bmilestone`)

// achievements counts the words of what was reached: two or more are no notice, such as the date of
// an examination.
func achievements(text string) int { return len(reached.FindAllString(text, -1)) }

// milestones returns sentences on what was reached, at most one of each of as many stretches of
// the time.
func milestones(all []*said, records int) (out []*said) {
	best := make([]*said, maxMilestones)
	most := make([]int, maxMilestones)
	for _, s := range all {
		stretch := s.record * maxMilestones / records
		if n := achievements(s.text); !s.told && n > most[stretch] {
			best[stretch], most[stretch] = s, n
		}
	}
	return slices.DeleteFunc(best, func(s *said) bool { return s == nil })
}

// newest returns the first sentences of the newest record that are not told yet.
func newest(all []*said) (out []*said) {
	for _, s := range all {
		if s.record == all[len(all)-1].record && !s.told && len(out) < maxNow {
			out = append(out, s)
		}
	}
	return out
}
