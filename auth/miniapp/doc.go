// Package miniapp exchanges the login codes of mini programs for the users they
// belong to: [New] makes an [auth.Exchanger] for platforms that have the
// jscode2session interface, in either of its two dialects.
//
//	exchanger, err := miniapp.New(miniapp.Config{AppID: id, Secret: secret})
//
// reaches api.weixin.qq.com. Another platform with the same interface needs its
// address, https://api.q.qq.com/sns/jscode2session say, and a Platform name of
// its own; developer.toutiao.com is reached with Dialect: miniapp.JSON.
//
// # What it takes care of
//
//   - A login code is spent by its first use, so it is sent once: no retry, no
//     reused connection (on which Go's client would repeat a request by itself),
//     no redirect.
//   - In the query dialect the secret is part of the address, and Go's errors
//     quote addresses. No error, log line or printed value here holds the secret
//     or the code.
//   - The answer is believed only when it is whole: status 200, valid JSON of
//     less than 64 KiB, no error code, and a user identifier.
//   - The session key that comes along is dropped.
package miniapp
