package gateway_test

import (
	"context"
	"log"
	"net/http"
	"os"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/gateway"
)

// A gateway in front of a paid service stores its tasks in a directory, so that none is lost.
func Example() {
	service, err := imagegen.New(imagegen.Config{BaseURL: "https://images.example",
		APIKey: os.Getenv("IMAGE_API_KEY")})
	if err != nil {
		log.Fatal(err)
	}
	keys, err := gateway.ParseKeys(os.Getenv("IMAGE_GATEWAY_KEYS")) // alice:s3cret,bob:pa55word
	if err != nil {
		log.Fatal(err)
	}
	store, err := gateway.Dir("images")
	if err != nil {
		log.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Generator: service, Keys: keys, Store: store})
	if err != nil {
		log.Fatal(err)
	}
	go func() { log.Fatal(g.Run(context.Background())) }()
	log.Fatal(http.ListenAndServe("127.0.0.1:8085", g))
}
