package imagegen_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"slices"

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

func (u uploads) Open(_ context.Context, info imagegen.Info) (imagegen.Blob, error) {
	return &upload{url: fmt.Sprintf("%s/%d%s", u.url, info.Index+1, info.Ext), mediaType: info.Type}, nil
}

type upload struct {
	bytes.Buffer
	url, mediaType string
}

// Commit is called once the whole response has been read: a response that breaks off leaves no
// image behind.
func (u *upload) Commit() error {
	req, err := http.NewRequest(http.MethodPut, u.url, u)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", u.mediaType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("upload: %s", resp.Status)
	}
	return nil
}

func (u *upload) Abort() error { return nil }

// Describe completes the Info in the Result.
func (u *upload) Describe(info *imagegen.Info) { info.Path = path.Base(u.url) }

// A caller's own Sink sends the images where they belong.
func ExampleSink() {
	service := imageService()
	defer service.Close()
	storage := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path, r.Header.Get("Content-Type"))
	}))
	defer storage.Close()

	client, _ := imagegen.New(imagegen.Config{BaseURL: service.URL})
	request := &imagegen.Request{Prompt: "a red fox", N: 2}
	result, err := client.Generate(context.Background(), request, uploads{storage.URL})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Images[0].Path, result.Images[1].Path)
	// Output:
	// PUT /1.png image/png
	// PUT /2.png image/png
	// 1.png 2.png
}

// An event says which request it belongs to, so one function can follow all calls of a Client.
func ExampleConfig_onEvent() {
	service := imageService()
	defer service.Close()
	client, _ := imagegen.New(imagegen.Config{BaseURL: service.URL, OnEvent: func(e imagegen.Event) {
		switch e.Kind {
		case imagegen.EventAttempt:
			fmt.Printf("%s: attempt %d\n", e.Request.Prompt, e.Attempt)
		case imagegen.EventRetry:
			fmt.Printf("%s: again in %v: %v\n", e.Request.Prompt, e.Wait, e.Err)
		case imagegen.EventTask:
			fmt.Printf("%s: task %s\n", e.Request.Prompt, e.TaskID)
		case imagegen.EventImage:
			fmt.Printf("%s: image %d, %dx%d\n", e.Request.Prompt, e.Image.Index+1, e.Image.Width, e.Image.Height)
		}
	}})
	for _, prompt := range []string{"a red fox", "an owl"} {
		request := &imagegen.Request{Prompt: prompt}
		if _, err := client.Generate(context.Background(), request, imagegen.Memory()); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// a red fox: attempt 1
	// a red fox: image 1, 4x3
	// an owl: attempt 1
	// an owl: image 1, 4x3
}

// imageService starts a service for the examples, whose images have 4 by 3 pixels.
func imageService() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request := struct{ N int }{1}
		_ = json.NewDecoder(r.Body).Decode(&request)
		var data bytes.Buffer
		_ = png.Encode(&data, image.NewGray(image.Rect(0, 0, 4, 3)))
		items := slices.Repeat([]map[string][]byte{{"b64_json": data.Bytes()}}, request.N)
		_ = json.NewEncoder(w).Encode(map[string]any{"data": items})
	}))
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
