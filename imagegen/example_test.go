package imagegen_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"

	"lessonkit.example/imagegen"
)

func Example() {
	client, err := imagegen.New(imagegen.Config{
		BaseURL: os.Getenv("IMAGE_BASE_URL"),
		APIKey:  os.Getenv("IMAGE_API_KEY"),
	})
	if err != nil {
		log.Fatal(err)
	}
	req := &imagegen.Request{Prompt: "a red fox in the snow", Size: "16:9"}
	result, err := client.Generate(context.Background(), req, imagegen.Dir(".", "fox-{i}{ext}"))
	if err != nil {
		log.Fatal(err)
	}
	for _, image := range result.Images {
		fmt.Println(image.Path, image.Width, image.Height)
	}
}

// One process submits a request and stores the task; any process may wait for it.
func ExampleClient_Submit() {
	ctx := context.Background()
	client, _ := imagegen.New(imagegen.Config{BaseURL: "https://images.example"})
	sink := imagegen.Dir(".", "")
	result, err := client.Submit(ctx, &imagegen.Request{Prompt: "a red fox"}, sink)
	if err == nil && len(result.Images) == 0 { // the service responded with a task
		_ = os.WriteFile("task", []byte(result.TaskID), 0o600)
		result, err = client.Wait(ctx, result.TaskID, sink)
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(result.Images), "images")
}

// A paid task is never lost: an event contains its identifier as soon as it is known, and so does
// the error when waiting ends early.
func ExampleClient_Wait() {
	ctx := context.Background()
	client, _ := imagegen.New(imagegen.Config{BaseURL: "https://images.example", OnEvent: func(e imagegen.Event) {
		if e.Kind == imagegen.EventTask {
			_ = os.WriteFile("task", []byte(e.TaskID), 0o600)
		}
	}})
	_, err := client.Generate(ctx, &imagegen.Request{Prompt: "a red fox"}, imagegen.Dir(".", ""))
	if w := (*imagegen.WaitError)(nil); errors.As(err, &w) {
		_, err = client.Wait(ctx, w.TaskID, imagegen.Dir(".", ""))
	}
	if err != nil {
		log.Fatal(err)
	}
}

// The photo that a browser sends, in winter.
func ExampleBytes() {
	client, _ := imagegen.New(imagegen.Config{BaseURL: "https://images.example"})
	http.HandleFunc("POST /winter", func(w http.ResponseWriter, r *http.Request) {
		photo, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 50_000_000))
		if err == nil {
			refs := []imagegen.Reference{imagegen.Bytes("photo", photo)}
			req := &imagegen.Request{Prompt: "in winter", References: refs}
			_, err = client.Generate(r.Context(), req, imagegen.Writer(w))
		}
		if err != nil {
			log.Print(err)
			http.Error(w, "no picture", http.StatusBadGateway)
		}
	})
}

func ExampleError() {
	client, _ := imagegen.New(imagegen.Config{BaseURL: "https://images.example"})
	req := &imagegen.Request{Prompt: "in winter",
		References: []imagegen.Reference{imagegen.URL("http://10.0.0.1/fox.png")}}
	_, err := client.Generate(context.Background(), req, imagegen.Memory())
	var e *imagegen.Error
	switch {
	case errors.Is(err, imagegen.ErrBlockedAddress), errors.Is(err, imagegen.ErrNotImage),
		errors.Is(err, imagegen.ErrTooLarge):
		fmt.Println("the reference cannot be used")
	case errors.As(err, &e) && e.MayHaveRun:
		fmt.Println("no image, but perhaps a charge")
	case errors.As(err, &e) && !e.Permanent():
		fmt.Println("again after", e.RetryAfter())
	}
	// Output: the reference cannot be used
}

func ExampleRatio_Crop() {
	x, y, w, h := imagegen.Ratio("16:9").Crop(1196, 1315)
	fmt.Println(x, y, w, h)
	// Output: 0 321 1196 673
}
