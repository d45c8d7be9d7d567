// Package auth signs in the users of mini programs, or of any platform that hands out one-time
// codes as OAuth 2 servers do. It exchanges the code for a session, whose token the client sends
// from then on, and tells which user a request is from.
//
//	platform, err := miniapp.New(miniapp.Config{AppID: id, Secret: secret})
//	if err != nil {
//		return err
//	}
//	service, err := auth.New(auth.Config{Store: store, Exchanger: platform}) // package auth/sqlstore has stores
//	if err != nil {
//		return err
//	}
//	http.Handle("/api/v1/auth/", authhttp.Handler(authhttp.Config{Service: service}))
//	http.Handle("/", authhttp.Middleware(service)(page)) // page calls authhttp.UserID
//	go service.Run(ctx)                                   // deletes expired sessions
//	return http.ListenAndServe("127.0.0.1:8080", nil)
//
// [New] returns a [Service] from a [Store] (package sqlstore: PostgreSQL or SQLite) and an
// [Exchanger] (package miniapp: platforms with the jscode2session interface; package oauth: OAuth 2
// servers). Package authhttp provides the HTTP endpoints, middleware and cookies, package authtest
// a fake platform and a conformance suite for exchangers.
//
// # Sessions
//
// A token is 256 random bits with a recognisable prefix. The store holds only its SHA-256, so a
// copy of the database signs nobody in. A session lasts 30 days from its sign-in, however much it
// is used. A user has at most ten sessions; one more ends the oldest. Nothing is cached: once a
// session has ended, its token is refused on every node.
//
// A program that serves two platforms creates two services on one store; each of them
// authenticates the tokens of both. Where their users have different rights, as staff and customers
// do, give each service a store of its own, on another database, or check [Service.Identity].
//
// A browser is signed in by a user who is signed in elsewhere: [Service.StartDevice] returns a code
// that it shows, [Service.ConfirmDevice] confirms it, and [Service.DeviceLogin] starts the session.
// [Service.Sessions] and [Service.EndSession] list sessions and end one.
//
// # Errors
//
// No error contains a token, a login code, a secret or a platform's user identifier. Errors tell by
// method what to do: Permanent() bool and RetryAfter() time.Duration.
package auth
