// Package authtest supports tests of programs that use package auth: [NewPlatform] starts a fake
// mini-program platform, whose answers a test can choose; [StoreSuite] and [ExchangerSuite] are
// conformance tests of [auth.Store] and [auth.Exchanger].
package authtest
