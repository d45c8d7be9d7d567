// Package authtest supports tests of programs that use package auth: [NewPlatform] starts a fake
// mini-program platform, whose answers a test can choose, and [ExchangerSuite] is a conformance
// test of [auth.Exchanger].
//
//	platform := authtest.NewPlatform(t)
//	exchanger, err := miniapp.New(miniapp.Config{
//		AppID: platform.AppID, Secret: platform.Secret, Endpoint: platform.Endpoint(),
//	})
//	if err != nil {
//		return err
//	}
//	id, err := exchanger.Exchange(ctx, platform.Code(authtest.User{OpenID: "anna"}))
package authtest
