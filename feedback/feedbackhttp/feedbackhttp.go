// Package feedbackhttp is the HTTP interface of package feedback.
//
//	api := feedbackhttp.Handler(feedbackhttp.Config{Service: service, Authenticate: authenticate})
//	err := http.ListenAndServe("127.0.0.1:8080", api)
//
// [Handler] returns a complete http.Handler with its own OpenAPI document, to be mounted anywhere.
// [Register] adds the same operations to a Huma API of the caller, such as [NewAPI] returns.
// [Config.Authenticate] identifies the teacher behind each request, so any kind of sign-in works.
//
// Errors are RFC 9457 problem documents with a stable "code". Without a [feedback.Service] every
// operation answers 503: a server can start before its database is configured.
package feedbackhttp

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbackhttp/internal/wire"
)

// Config configures the interface.
type Config struct {
	// Service is what the operations call. If nil, no database is configured and every operation
	// answers 503 with the code database_not_configured.
	Service *feedback.Service

	// Authenticate identifies the teacher who sends a request, from the request's context and
	// header. It is called once for each request before anything else of it is read, before each
	// file of an export, and while a stream of events is open before each event and every 15
	// seconds. Required. It must be safe for concurrent use.
	//
	// An error, or the zero UUID, is answered 401 with a WWW-Authenticate header, and ends a stream
	// and an export, as another teacher does: a token must be valid for as long as an export
	// lasts. An error with a method Permanent() bool that returns false reports nothing about the
	// caller: it is answered 503, with the Retry-After header that its method RetryAfter()
	// time.Duration returns, and ends neither. An error that is a [huma.StatusError] is answered
	// with its own status, headers and body.
	Authenticate func(ctx context.Context, header http.Header) (uuid.UUID, error)

	// MaxRequests is how many requests of one teacher this process serves at once, and
	// MaxRequestsInAll how many of all teachers, not counting what lasts and holds little memory:
	// uploads, downloads and summaries. It bounds the memory of answers, each of less than 2 MiB,
	// that clients do not read. MaxStreams and MaxStreamsInAll are the same for streams of events,
	// which count for no other limit. Others are answered 429, those of MaxRequestsInAll after
	// waiting for a moment. They default to 8, 64, 8 and 1000; negative means no limit.
	MaxRequests, MaxRequestsInAll, MaxStreams, MaxStreamsInAll int

	// Stopping, if not nil, is closed when the server begins to shut down: streams of events end
	// then, which http.Server.Shutdown would wait for, and clients continue them elsewhere.
	Stopping <-chan struct{}

	// BasePath is the path that [Handler] is mounted below, such as "/teach", for the OpenAPI
	// document: http.StripPrefix removes it from requests. Defaults to the root.
	BasePath string

	// Logger receives a line for each request to [Handler]. If nil, nothing is logged.
	Logger *slog.Logger
}

// Handler returns the whole interface below /api/v1, and its document at /openapi.json. It panics
// if Config.Authenticate is nil. For streams of events, the ResponseWriter of a middleware around
// it needs Flush or Unwrap.
func Handler(c Config) http.Handler {
	mux := http.NewServeMux()
	api := NewAPI(mux, APIOptions{
		Title: "Teaching feedback", Version: "1", BasePath: c.BasePath,
		Description: "Students' profiles, feedback records, and voice sessions with background transcription.",
	})
	Register(huma.NewGroup(api, "/api/v1"), c)
	return Wrap(mux, WrapOptions{Logger: c.Logger})
}

// Register adds the operations to an API on net/http, with paths relative to it: a group such as
// huma.NewGroup(api, "/api/v1"). It panics if Config.Authenticate is nil.
func Register(api huma.API, c Config) {
	if c.Authenticate == nil {
		panic("feedbackhttp: Config.Authenticate is nil")
	}
	inAll := int64(cmp.Or(c.MaxRequestsInAll, 64))
	if inAll < 0 {
		inAll = math.MaxInt64
	}
	group := huma.NewGroup(api)
	s := &server{
		api: api, svc: c.Service,
		authenticate: func(ctx context.Context, header http.Header) (uuid.UUID, error) {
			teacher, err := c.Authenticate(ctx, header)
			if err == nil && teacher == uuid.Nil { // as of a map that does not have the sender
				err = errNobody
			}
			return teacher, err
		},
		requests: newGate(cmp.Or(c.MaxRequests, 8), -1),
		answers:  semaphore.NewWeighted(inAll),
		streams:  newGate(cmp.Or(c.MaxStreams, 8), cmp.Or(c.MaxStreamsInAll, 1000)),
		exports:  newGate(1, maxExports),
		stopping: c.Stopping,
	}
	group.UseMiddleware(s.requireTeacher)
	// In the order in which a client uses them, which is that of the document.
	api.OpenAPI().Tags = append(api.OpenAPI().Tags, tags...)
	s.registerProfiles(group)
	s.registerDefaults(group)
	s.registerSessions(group)
	s.registerGenerate(group)
	s.registerEvents(group)
	s.registerLessons(group)
	s.registerUpload(group)
	s.registerSegments(group)
	s.registerAudio(group)
	s.registerWords(group)
	s.registerRecords(group)
	s.registerRecordText(group)
	s.registerReport(group)
	s.registerExport(group)
}

var tags = []*huma.Tag{
	{Name: profilesTag, Description: "The teacher's students, and the defaults of new profiles."},
	{Name: sessionsTag, Description: "A student's lessons until their feedback is written: at most one is active."},
	{Name: lessonsTag, Description: "The lessons of a session, each recorded in segments."},
	{Name: segmentsTag, Description: "Recordings, which are transcribed in the background."},
	{Name: recordsTag, Description: "The finished feedback, by date."},
	{Name: exportTag, Description: "All data of a teacher in one file."},
}

type server struct {
	api          huma.API
	svc          *feedback.Service // nil without a database
	authenticate func(ctx context.Context, header http.Header) (uuid.UUID, error)
	requests     *gate
	answers      *semaphore.Weighted // are requests, too: those that do not last
	streams      *gate
	exports      *gate // are requests, too
	stopping     <-chan struct{}
}

const (
	// bodyTimeout is how long a JSON body may take to arrive.
	bodyTimeout = 30 * time.Second
	// maxBody is the size of the largest JSON body, in bytes: 20 000 characters, if each is escaped
	// as two surrogates, are 240 000.
	maxBody = 256 << 10
)

type output[T any] struct{ Body T }

// list is a page of a list. Each list has a type of its own, which is its name in the document.
type list[T any] struct {
	Items []T `json:"items" nullable:"false"`

	NextCursor *string `json:"next_cursor" example:"eyJsIjoi" doc:"Of the next page; null on the last one."`
}

func listOut[T, U any](l feedback.List[T], out func(T) U) list[U] {
	page := list[U]{Items: wire.Map(l.Items, out)}
	if l.NextCursor != "" {
		page.NextCursor = &l.NextCursor
	}
	return page
}

func statusOf(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusOK
}

// schemaOf returns the schema of a response that Huma does not derive from a handler.
func schemaOf[T any](api huma.API) *huma.Schema {
	return api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}

var (
	// always are the statuses that every operation can fail with.
	always = []int{
		http.StatusUnauthorized, http.StatusUnprocessableEntity, http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusServiceUnavailable,
	}
	// jsonBody are the further statuses of an operation with a JSON body, which it may store.
	jsonBody = []int{
		http.StatusBadRequest, http.StatusRequestTimeout,
		http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusInsufficientStorage,
	}
)

// operation adds to op what all operations have in common.
func (s *server) operation(op huma.Operation) huma.Operation {
	op.Errors = slices.Concat(always, op.Errors)
	op.Security = []map[string][]string{{"bearer": {}}}
	op.BodyReadTimeout, op.MaxBodyBytes = bodyTimeout, maxBody
	return op
}
