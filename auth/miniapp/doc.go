// Package miniapp exchanges the login codes of mini programs for the identities of their users:
// [New] returns an [auth.Exchanger] for platforms with the jscode2session interface.
//
//	exchanger, err := miniapp.New(miniapp.Config{AppID: id, Secret: secret})
//
// uses api.weixin.qq.com. Another platform with the same interface needs its endpoint, such as
// https://api.q.qq.com/sns/jscode2session, and a Platform name.
//
// # Guarantees
//
//   - A login code is used up by its first use, so it is sent once: no retries, no reused
//     connections (on which net/http repeats requests), no redirects.
//   - The secret is part of the URL, and Go's errors contain URLs. No error,
//     log line or printed value of this package contains the secret or the code.
//   - An answer is accepted only if it has status 200, is valid JSON of at most 64 KiB, and has no
//     error code but a user identifier.
//   - The session key in the answer is discarded.
package miniapp
