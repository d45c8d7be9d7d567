// Package authtest supports tests of programs that use package auth: [NewPlatform] starts a fake
// mini-program platform, whose answers a test can choose, and [ExchangerSuite] is a conformance
// test of [auth.Exchanger].
package authtest
