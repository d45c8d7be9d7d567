// Package auth signs the users of mini programs in and tells who sends a
// request: it exchanges the platform's one-time login code for a session of its
// own, whose bearer token the client sends from then on.
//
// [New] makes a [Service] from a [Store] (package sqlstore: PostgreSQL or
// SQLite) and an [Exchanger] (package miniapp: platforms with the jscode2session
// interface). [Service.Login] signs in; [Service.Middleware] lets in requests of
// signed-in teachers, whom [TeacherID] then finds in the context. Package
// authhttp has the HTTP interface around it, package authtest a fake platform
// and a conformance suite for stores. [Service.Run] does the housekeeping.
//
// A whole sign-in server, but for the handling of errors:
//
//	store, err := sqlstore.Open(ctx, "sqlite:teachers.db") // or postgres://…
//	err = store.Migrate(ctx)
//	exchanger, err := miniapp.New(miniapp.Config{AppID: id, Secret: secret})
//	service, err := auth.New(auth.Config{Store: store, Exchanger: exchanger})
//	go service.Run(ctx)
//	mux := http.NewServeMux()
//	mux.Handle("/api/v1/auth/", authhttp.Handler(authhttp.Config{Service: service}))
//	mux.Handle("/", authhttp.Middleware(service)(yours)) // auth.TeacherID(ctx) says who asks
//	err = http.ListenAndServe("127.0.0.1:8080", mux)
//
// The example of package authhttp is the same, ready to run.
//
// # Sessions
//
// A token is 256 random bits with a recognisable prefix. The store holds its
// SHA-256 alone, so a stolen copy of the database signs nobody in. A session
// lasts 30 days from its sign-in, however much it is used; an idle timeout is
// optional ([Config.IdleTimeout]). A teacher has at most ten sessions
// ([Config.MaxSessions]); the oldest makes room. Nothing is cached: a token that
// was revoked is dead at once, on every node.
//
// A program that serves two platforms makes two services on one store: either
// authenticates the tokens of both.
//
// # Errors
//
// Requests are turned away with [ErrNoToken] or [ErrInvalidToken], and with
// [ErrUnavailable] while the store is away. Sign-ins fail with an
// [ExchangeError], whose kind is one of the sentinels from [ErrCodeMissing] to
// [ErrMisconfigured]. No error holds a token, a login code, a secret or a
// platform's user identifier. Errors tell by method what to do: Permanent() bool
// and RetryAfter() time.Duration.
//
// # Compatibility
//
// Stored sessions and issued tokens stay good across versions of this package.
package auth
