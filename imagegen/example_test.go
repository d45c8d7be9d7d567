package imagegen_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"

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

func ExampleClient_Batch() {
	client, _ := imagegen.New(imagegen.Config{BaseURL: "https://images.example"})
	requests := func(yield func(*imagegen.Request, imagegen.Sink) bool) {
		for _, animal := range []string{"fox", "owl", "hare"} {
			if !yield(&imagegen.Request{Prompt: animal}, imagegen.Dir(".", animal+"{ext}")) {
				return
			}
		}
	}
	for req, outcome := range client.Batch(context.Background(), 2, requests) {
		fmt.Println(req.Prompt, outcome.Err)
	}
}

func ExampleBuffers() {
	client, _ := imagegen.New(imagegen.Config{BaseURL: "https://images.example"})
	images := imagegen.Memory()
	_, err := client.Generate(context.Background(), &imagegen.Request{Prompt: "a red fox", N: 2}, images)
	for i, data := range images.All() {
		fmt.Println(i, len(data), err)
	}
}

// uploads is a Sink that sends each image to another server.
type uploads struct{ url string }

func (u uploads) Open(ctx context.Context, info imagegen.Info) (imagegen.Blob, error) {
	f, err := os.CreateTemp("", "upload")
	return &uploaded{f, u.url + "/" + filepath.Base(f.Name()), info.Type}, err
}

type uploaded struct {
	*os.File
	url, mediaType string
}

// Commit is called when the image is complete, and Abort when it is not.
func (u *uploaded) Commit() error {
	defer os.Remove(u.Name())
	_, _ = u.Seek(0, 0)
	resp, err := http.Post(u.url, u.mediaType, u.File)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (u *uploaded) Abort() error { return errors.Join(u.Close(), os.Remove(u.Name())) }

func ExampleSink() {
	client, _ := imagegen.New(imagegen.Config{BaseURL: "https://images.example"})
	sink := uploads{"https://storage.example"}
	_, err := client.Generate(context.Background(), &imagegen.Request{Prompt: "a red fox"}, sink)
	fmt.Println(err)
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
