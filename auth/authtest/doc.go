// Package authtest supports tests of programs that use package auth: [NewPlatform] starts a fake
// mini-program platform, whose answers a test can choose, and [ExchangerSuite] is a conformance
// test of [auth.Exchanger].
//
//	platform := authtest.NewPlatform(t)
//	config := miniapp.Config{
//		AppID: platform.AppID, Secret: platform.Secret, Endpoint: platform.Endpoint(),
//	}
//	code := platform.Code(authtest.User{OpenID: "anna"})
package authtest
