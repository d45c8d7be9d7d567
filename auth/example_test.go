package auth_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"lessonkit.example/auth"
)

// Handlers behind the middleware know who asks.
func ExampleService_Middleware() {
	store, remove := exampleStore()
	defer remove()
	service, err := auth.New(auth.Config{Store: store, DevelopmentHeader: true})
	if err != nil {
		panic(err)
	}
	handler := service.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, signedIn := auth.TeacherID(r.Context())
		fmt.Println("signed in:", signedIn)
	}))

	request := httptest.NewRequest(http.MethodGet, "/", nil)
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	fmt.Println(answer.Code, answer.Header().Get("WWW-Authenticate"))

	request.Header.Set(auth.DevelopmentHeader, "anna")
	handler.ServeHTTP(httptest.NewRecorder(), request)
	// Output:
	// 401 Bearer
	// signed in: true
}

// An Exchanger of one's own serves any other platform.
func ExampleExchanger() {
	store, remove := exampleStore()
	defer remove()
	service, err := auth.New(auth.Config{
		Store: store,
		Exchanger: exchange(func(ctx context.Context, code string) (auth.Identity, error) {
			if code != "good" {
				return auth.Identity{}, &auth.ExchangeError{Kind: auth.ErrCodeRejected}
			}
			return auth.Identity{Platform: "campus", Subject: "anna"}, nil
		}),
	})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	_, err = service.Login(ctx, "bad")
	fmt.Println(err)
	login, err := service.Login(ctx, "good")
	if err != nil {
		panic(err)
	}
	who, err := service.AuthenticateToken(ctx, login.Token)
	fmt.Println(who.TeacherID == login.TeacherID, who.Method, err)
	// Output:
	// exchange login code: login code is not valid
	// true session <nil>
}
