package gateway_test

import (
	"context"
	"log"
	"net/http"
	"os"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/gateway"
)

// A gateway in front of a paid service. examples/image-gateway shows tasks that survive a restart.
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
	files, err := gateway.OpenFiles("images", 0)
	if err != nil {
		log.Fatal(err)
	}
	tasks := gateway.NewMemoryTasks(gateway.Performer{Generator: service, Files: files}, 2)
	g, err := gateway.New(gateway.Config{Tasks: tasks, Files: files, Keys: keys})
	if err != nil {
		log.Fatal(err)
	}
	go func() { log.Fatal(tasks.Run(context.Background())) }()
	log.Fatal(http.ListenAndServe("127.0.0.1:8085", g))
}
