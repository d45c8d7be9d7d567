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
