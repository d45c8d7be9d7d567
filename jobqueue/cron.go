package jobqueue

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// When returns the times of a [Schedule]: see [Cron] and [Every]. Next returns the first one after
// a time, or the zero Time if there is none; String identifies the rule, and a schedule whose
// String changes starts anew.
type When interface {
	Next(after time.Time) time.Time
	String() string
}

// Every returns the times that are multiples of d since 1970-01-01 00:00 UTC, so that all processes
// and restarts agree on them. It panics if d is less than 10 ms.
func Every(d time.Duration) When {
	if d < 10*time.Millisecond {
		panic(fmt.Sprintf("jobqueue: Every(%v) is less than 10ms", d))
	}
	return every(d.Truncate(time.Microsecond))
}

type every time.Duration

func (e every) Next(after time.Time) time.Time {
	d := time.Duration(e).Microseconds()
	return time.UnixMicro((floorDiv(after.UnixMicro(), d) + 1) * d).UTC()
}

func (e every) String() string {
	text := time.Duration(e).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return "every " + text
}

func floorDiv(a, b int64) int64 {
	if a < 0 {
		return -((b - 1 - a) / b)
	}
	return a / b
}

// Cron parses a cron expression of five fields: minute, hour, day of the month, month and day of
// the week (0 to 7, both Sunday). A field is * or a list of numbers, English three-letter names and
// ranges; * and ranges may have a step, as in */15 or 8-18/2. If neither kind of day begins with *,
// either may match; otherwise, as with */2, both must. @hourly, @daily, @midnight, @weekly,
// @monthly, @yearly and @annually are abbreviations. An expression that matches no date, such as 30
// February, is an error. A nil loc is UTC.
//
// Where clocks change, the times are those of Vixie cron: if minute or hour begins with *, the
// times follow the clock, also through an hour that is repeated. Otherwise each time of the day
// comes once: one that is skipped comes when the clock has been changed, and of two the first.
func Cron(expression string, loc *time.Location) (When, error) {
	if loc == nil {
		loc = time.UTC
	}
	text := strings.Join(strings.Fields(expression), " ")
	fields := strings.Fields(text)
	if long, ok := abbreviations[text]; ok {
		fields = strings.Fields(long)
	}
	if len(fields) != len(cronFields) {
		return nil, fmt.Errorf("jobqueue: cron expression %q has %d fields, not %d", expression, len(fields),
			len(cronFields))
	}
	c := &cron{text: text + " " + loc.String(), loc: loc}
	for i, f := range fields {
		set, err := cronFields[i].parse(f)
		if err != nil {
			return nil, fmt.Errorf("jobqueue: cron expression %q: %w", expression, err)
		}
		c.sets[i] = set
	}
	star := func(field int) bool { return strings.HasPrefix(fields[field], "*") }
	c.follows = star(minute) || star(hour)
	c.eitherDay = !star(day) && !star(weekday)
	c.sets[weekday] |= c.sets[weekday] >> 7 & 1 // 7 is Sunday too
	w := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, ok := c.wall(w, horizon(w)); !ok {
		return nil, fmt.Errorf("jobqueue: cron expression %q matches no date", expression)
	}
	return c, nil
}

var abbreviations = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// The fields of a cron expression.
const (
	minute = iota
	hour
	day
	month
	weekday
)

type cronField struct {
	name     string
	min, max int
	names    []string // of min, min+1, …
}

var cronFields = [5]cronField{
	{"minute", 0, 59, nil}, {"hour", 0, 23, nil}, {"day of the month", 1, 31, nil},
	{"month", 1, 12, strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
	{"day of the week", 0, 7, strings.Fields("sun mon tue wed thu fri sat")},
}

// parse returns the set of the values of a field, one bit for each.
func (f cronField) parse(text string) (set uint64, err error) {
	for _, part := range strings.Split(text, ",") {
		span, stepText, hasStep := strings.Cut(part, "/")
		first, last, isRange := strings.Cut(span, "-")
		low, high, step := f.min, f.max, 1
		if span != "*" {
			if low, err = f.value(first); err != nil {
				return 0, err
			}
			high = low
			if isRange {
				if high, err = f.value(last); err != nil {
					return 0, err
				}
			}
		}
		if hasStep {
			n, err := strconv.ParseUint(stepText, 10, 8)
			if step = int(n); err != nil || step < 1 || step > f.max {
				return 0, fmt.Errorf("%s %q: the step is not a number from 1 to %d", f.name, part, f.max)
			}
			if span != "*" && !isRange {
				return 0, fmt.Errorf("%s %q: a step needs a range, such as %s-%d/%d", f.name, part, span, f.max, step)
			}
		}
		if low > high {
			return 0, fmt.Errorf("%s %q: the range ends before it begins", f.name, part)
		}
		for v := low; v <= high; v += step {
			set |= 1 << v
		}
	}
	return set, nil
}

func (f cronField) value(text string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.min + i, nil
		}
	}
	v, err := strconv.ParseUint(text, 10, 8)
	if err != nil || int(v) < f.min || int(v) > f.max {
		return 0, fmt.Errorf("%s %q is not a number from %d to %d", f.name, text, f.min, f.max)
	}
	return int(v), nil
}

type cron struct {
	text      string
	loc       *time.Location
	sets      [5]uint64
	follows   bool // the clock, as minute or hour begins with *
	eitherDay bool // neither kind of day begins with *, and one is enough
}

func (c *cron) String() string { return c.text }

// Wall-clock times are represented as the same time of the day in UTC.

// horizon returns when a search that begins at w may give up: the longest distance between two
// matching dates is 40 years, from 29 February 2088, a Sunday, to the next one in 2128.
func horizon(w time.Time) time.Time { return w.AddDate(41, 0, 0) }

// wall returns the first matching minute that is before end and not before w, itself a full minute.
func (c *cron) wall(w, end time.Time) (time.Time, bool) {
	has := func(field, value int) bool { return c.sets[field]>>value&1 == 1 }
	for w.Before(end) {
		byMonth, byWeek := has(day, w.Day()), has(weekday, int(w.Weekday()))
		matches := byMonth && byWeek
		if c.eitherDay {
			matches = byMonth || byWeek
		}
		switch {
		case !has(month, int(w.Month())):
			w = time.Date(w.Year(), w.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		case !matches:
			w = time.Date(w.Year(), w.Month(), w.Day()+1, 0, 0, 0, 0, time.UTC)
		case !has(hour, w.Hour()):
			w = w.Truncate(time.Hour).Add(time.Hour)
		case !has(minute, w.Minute()):
			w = w.Add(time.Minute)
		default:
			return w, true
		}
	}
	return time.Time{}, false
}

func (c *cron) Next(after time.Time) time.Time {
	if c.follows {
		return c.nextByClock(after)
	}
	p := periodAt(after, c.loc)
	for w := p.wall(after).Truncate(time.Minute); ; {
		var ok bool
		if w, ok = c.wall(w.Add(time.Minute), horizon(w)); !ok {
			return time.Time{}
		}
		if t := c.instant(w); t.After(after) {
			return t
		}
	}
}

// nextByClock returns the first time after after when the clock shows a matching minute.
func (c *cron) nextByClock(after time.Time) time.Time {
	limit := horizon(after)
	for from := after.Add(1); from.Before(limit); {
		p := periodAt(from, c.loc)
		w := p.wall(from)
		if full := w.Truncate(time.Minute); full.Before(w) {
			w = full.Add(time.Minute)
		}
		end := limit
		if !p.end.IsZero() {
			end = p.end
		}
		if w, ok := c.wall(w, p.wall(end)); ok {
			return p.instant(w)
		}
		from = end
	}
	return time.Time{}
}

// instant returns when the clock shows w for the first time or, if it never does, when it first
// shows a later time.
func (c *cron) instant(w time.Time) time.Time {
	for p := periodAt(w.AddDate(0, 0, -2), c.loc); ; p = periodAt(p.end, c.loc) {
		if t := p.instant(w); t.Before(p.start) {
			return p.start // the clock skipped w
		} else if p.contains(t) {
			return t
		}
	}
}

// period is a time in which the offset of a zone from UTC does not change.
type period struct {
	start, end time.Time // zero: unlimited
	offset     time.Duration
}

func periodAt(t time.Time, loc *time.Location) period {
	t = t.In(loc)
	start, end := t.ZoneBounds()
	if !end.IsZero() && !end.After(t) {
		// Beyond the transitions that a zone lists, ZoneBounds ends leap years a day too early.
		end = time.Date(t.UTC().Year()+1, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	_, offset := t.Zone()
	return period{start.UTC(), end.UTC(), time.Duration(offset) * time.Second}
}

func (p period) wall(t time.Time) time.Time    { return t.UTC().Add(p.offset) }
func (p period) instant(w time.Time) time.Time { return w.Add(-p.offset) }

func (p period) contains(t time.Time) bool {
	return !t.Before(p.start) && (p.end.IsZero() || t.Before(p.end))
}
