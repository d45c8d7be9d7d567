package authtest_test

import (
	"context"
	"fmt"

	"lessonkit.example/auth/authtest"
	"lessonkit.example/auth/miniapp"
)

// A platform that is busy, and then works again.
func Example() {
	platform := authtest.StartPlatform()
	defer platform.Close()
	client, err := miniapp.New(miniapp.Config{AppID: platform.AppID, Secret: platform.Secret,
		Endpoint: platform.Endpoint()})
	if err != nil {
		panic(err)
	}
	platform.Behave(authtest.ErrorCode(-1))
	_, err = client.Exchange(context.Background(), "any")
	fmt.Println(err)

	platform.Behave(nil)
	id, _ := client.Exchange(context.Background(), platform.Code(authtest.User{OpenID: "o-1"}))
	fmt.Println(id.Subject, platform.Exchanges())
	// Output:
	// exchange login code: platform is busy (platform code -1): refused, rid: 6530c2b1-0000
	// o-1 2
}
