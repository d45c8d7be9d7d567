package miniapp_test

import (
	"context"
	"errors"
	"fmt"

	"lessonkit.example/auth"
	"lessonkit.example/auth/authtest"
	"lessonkit.example/auth/miniapp"
)

func Example() {
	platform := authtest.StartPlatform() // instead of the real one
	defer platform.Close()
	client, err := miniapp.New(miniapp.Config{
		AppID: platform.AppID, Secret: platform.Secret,
		Endpoint: platform.Endpoint(), // by default the real one
	})
	if err != nil {
		panic(err)
	}
	code := platform.Code(authtest.User{OpenID: "o-1"})
	id, err := client.Exchange(context.Background(), code)
	fmt.Println(id.Platform, id.Subject, err)
	_, err = client.Exchange(context.Background(), code)
	fmt.Println(errors.Is(err, auth.ErrCodeRejected))
	// Output:
	// miniapp o-1 <nil>
	// true
}
