package feedbackhttp

import (
	"archive/zip"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"path"
	"strings"
	"time"
	"unicode"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbackhttp/internal/wire"
	"lessonkit.example/internal/httpapi"
)

const exportTag = "Export"

// maxExports is how many exports a process makes at once: clients that read slowly hold them for
// long.
const maxExports = 32

func (s *server) registerExport(api huma.API) {
	op := s.operation(huma.Operation{
		Method: http.MethodGet, Path: "/export", OperationID: "export",
		Metadata: lasting,
		Tags:     []string{exportTag}, Summary: "Download everything",
		Description: "A ZIP file with all data of the teacher: students, records, words and defaults as JSON, and a " +
			"folder for each session with its texts as JSON and its recordings; README.txt in it explains. What " +
			"changes meanwhile may be in it or not. If it cannot be completed, or the session ends, the " +
			"connection is cut, and the file is not a valid ZIP file. On each process, a teacher may have one " +
			"export at once, and all teachers 32 (429).",
		Responses: map[string]*huma.Response{"200": {
			Description: "The ZIP file",
			Headers: map[string]*huma.Param{
				"Content-Disposition": textHeader("By RFC 6266."),
				"Cache-Control":       textHeader("no-store"),
				"X-Accel-Buffering":   textHeader("no: proxies should not store the file."),
			},
			Content: map[string]*huma.MediaType{
				"application/zip": {Schema: &huma.Schema{Type: "string", Format: "binary"}},
			},
		}},
	})
	httpapi.Stream(api, op, func(ctx huma.Context) (int, any, error) {
		teacher := teacher(ctx.Context())
		leave, err := s.exports.enter(teacher)
		if err != nil {
			return 0, nil, err
		}
		defer leave()
		defaults, err := s.svc.Defaults(ctx.Context(), teacher)
		if err != nil {
			return 0, nil, problem("query", err) // before the answer begins
		}
		ctx.SetHeader("Content-Type", "application/zip")
		ctx.SetHeader("Content-Disposition", `attachment; filename="lessons.zip"`)
		ctx.SetHeader("Cache-Control", "no-store")
		ctx.SetHeader("X-Accel-Buffering", "no") // nginx would write it to a file
		ctx.SetStatus(http.StatusOK)
		if ctx.Method() == http.MethodHead {
			return 0, nil, nil
		}
		e := &export{
			svc: s.svc, teacher: teacher, zip: zip.NewWriter(ctx.BodyWriter()), started: time.Now(),
			folders: map[string]bool{}, buffer: make([]byte, 256<<10),
			check: func() error {
				out := s.signedOut(ctx)
				if err := ctx.Context().Err(); err != nil || !out {
					return err
				}
				return errors.New("the teacher has signed out")
			},
		}
		if err := e.write(ctx.Context(), defaults); err != nil {
			httpapi.Cut(fmt.Errorf("export: %w", err))
		}
		return 0, nil, nil
	})
}

//go:embed export.txt
var exportReadme string

// export writes a ZIP file. Its memory does not depend on the recordings and texts, but for the ZIP
// file's table of contents: less than 1 KiB for each recording.
type export struct {
	svc     *feedback.Service
	teacher uuid.UUID
	zip     *zip.Writer
	started time.Time
	folders map[string]bool // that exist, in lower case
	buffer  []byte

	check func() error // is called before each file: a slow client takes hours
}

func (e *export) write(ctx context.Context, defaults feedback.Defaults) error {
	readme, err := e.create("README.txt", zip.Deflate, e.started)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(readme, exportReadme, e.started.UTC().Format(time.RFC3339)); err != nil {
		return err
	}
	words, err := e.svc.Words(ctx, e.teacher)
	if err != nil {
		return err
	}
	students := pages(func(p feedback.Page) (feedback.List[feedback.Profile], error) {
		return e.svc.Profiles(ctx, e.teacher, feedback.ProfileFilter{}, p)
	})
	records := pages(func(p feedback.Page) (feedback.List[feedback.Record], error) {
		return e.svc.Records(ctx, e.teacher, feedback.RecordFilter{}, p)
	})
	err = errors.Join(
		e.object("profile_defaults.json", defaultsOut(defaults).Body),
		e.object("words.json", expectedWords{append([]string{}, words...)}),
		array(e, "students.json", students, profileOut),
		array(e, "feedback_records.json", records, recordOut),
	)
	if err != nil {
		return err
	}
	for student, err := range students {
		if err != nil {
			return err
		}
		for id, err := range e.svc.SessionIDs(ctx, e.teacher, student.ID) {
			if err != nil {
				return err
			}
			if err := e.session(ctx, id, student.Name); err != nil {
				return err
			}
		}
	}
	return e.zip.Close()
}

// exportedSession is a session with its lessons, without their segments.
type exportedSession struct {
	wire.FeedbackSession
	Lessons []wire.LessonRow `json:"lessons"`
}

// exportedRecording is a segment with the name of its file in the same folder.
type exportedRecording struct {
	LessonNumber int     `json:"lesson_number"`
	AudioFile    *string `json:"audio_file"`
	wire.SegmentWithSentences
}

// session writes the folder of a session: first the audio, so that the list of recordings tells
// what is there. A session that has been deleted meanwhile is left out.
func (e *export) session(ctx context.Context, id uuid.UUID, student string) error {
	s, err := e.svc.Session(ctx, e.teacher, id)
	if errors.Is(err, feedback.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	name := s.Date + "-" + asFileName(student)
	folder := e.folder("sessions/" + name)
	written := map[uuid.UUID]bool{} // whether the audio of a segment is there
	for r, err := range e.recordings(ctx, s.Lessons) {
		if err != nil {
			return err
		}
		if written[r.ID], err = e.audio(ctx, folder+"/"+r.fileName(name), r.Segment); err != nil {
			return err
		}
	}
	session := exportedSession{wire.SessionOf(s), wire.Map(s.Lessons, wire.LessonRowOf)}
	if err := e.object(folder+"/session.json", session); err != nil {
		return err
	}
	known := func(yield func(recorded, error) bool) {
		for r, err := range e.recordings(ctx, s.Lessons) {
			if _, known := written[r.ID]; !known && err == nil {
				continue // has been recorded since
			}
			if !yield(r, err) {
				return
			}
		}
	}
	return array(e, folder+"/recordings.json", known, func(r recorded) exportedRecording {
		out := exportedRecording{LessonNumber: r.lesson.Number,
			SegmentWithSentences: wire.SegmentWithSentencesOf(r.Segment)}
		if written[r.ID] {
			file := r.fileName(name)
			out.AudioFile = &file
		}
		return out
	})
}

// recorded is a segment with its lesson.
type recorded struct {
	feedback.Segment
	lesson feedback.Lesson
}

// fileName is unique in the folder of a session.
func (r recorded) fileName(session string) string {
	return fmt.Sprintf("%s-%d-%03d%s", session, r.lesson.Number, r.Sequence+1, path.Ext(r.AudioKey))
}

// recordings yields the segments of lessons. It ends after its first error.
func (e *export) recordings(ctx context.Context, lessons []feedback.Lesson) iter.Seq2[recorded, error] {
	return func(yield func(recorded, error) bool) {
		for _, l := range lessons {
			for segment, err := range pages(func(p feedback.Page) (feedback.List[feedback.Segment], error) {
				return e.svc.Segments(ctx, e.teacher, l.ID, p)
			}) {
				if errors.Is(err, feedback.ErrNotFound) {
					break // deleted meanwhile
				}
				if !yield(recorded{segment, l}, err) || err != nil {
					return
				}
			}
		}
	}
}

// audio writes a recording. It reports false if there is none.
func (e *export) audio(ctx context.Context, file string, segment feedback.Segment) (bool, error) {
	_, f, err := e.svc.OpenAudio(ctx, e.teacher, segment.ID)
	if errors.Is(err, feedback.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	w, err := e.create(file, zip.Store, segment.CreatedAt)
	if err != nil {
		return false, err
	}
	// Otherwise an *os.File would use a smaller buffer of its own.
	n, err := io.CopyBuffer(w, struct{ io.Reader }{f}, e.buffer)
	if err == nil && n != f.Size() {
		err = fmt.Errorf("segment %s: %d of %d bytes: %w", segment.ID, n, f.Size(), io.ErrUnexpectedEOF)
	}
	return true, err
}

// folder returns the name of a new folder.
func (e *export) folder(name string) string {
	unique := name
	for n := 2; e.folders[strings.ToLower(unique)]; n++ {
		unique = fmt.Sprintf("%s (%d)", name, n)
	}
	e.folders[strings.ToLower(unique)] = true
	return unique
}

func (e *export) create(name string, method uint16, at time.Time) (io.Writer, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	return e.zip.CreateHeader(&zip.FileHeader{Name: name, Method: method, Modified: at})
}

func (e *export) object(name string, v any) error {
	w, err := e.create(name, zip.Deflate, e.started)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// array writes a JSON array with a line for each item.
func array[T, U any](e *export, name string, items iter.Seq2[T, error], out func(T) U) error {
	w, err := e.create(name, zip.Deflate, e.started)
	if err != nil {
		return err
	}
	separator := "[\n"
	for item, err := range items {
		if err != nil {
			return err
		}
		line, err := json.Marshal(out(item))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s%s", separator, line); err != nil {
			return err
		}
		separator = ",\n"
	}
	end := "\n]\n"
	if separator == "[\n" {
		end = "[]\n"
	}
	_, err = io.WriteString(w, end)
	return err
}

// pages yields the items of all pages of a list. It ends after its first error.
func pages[T any](list func(feedback.Page) (feedback.List[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for page := (feedback.Page{Limit: 200}); ; {
			l, err := list(page)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range l.Items {
				if !yield(item, nil) {
					return
				}
			}
			if page.Cursor = l.NextCursor; page.Cursor == "" {
				return
			}
		}
	}
}

// asFileName returns a name of a student as file systems accept it: at most 40 letters, digits,
// spaces, hyphens and underscores.
func asFileName(s string) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Letter, unicode.Mark, unicode.Digit) || strings.ContainsRune(" -_", r) {
			return r
		}
		return '_'
	}, s))
	return strings.TrimSpace(string(runes[:min(len(runes), 40)]))
}
