package imagegen_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"testing"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/imagegentest"
)

func Example() {
	client, err := imagegen.New(imagegen.Config{BaseURL: os.Getenv("IMAGE_BASE_URL"), Key: os.Getenv("IMAGE_API_KEY")})
	if err != nil {
		log.Fatal(err)
	}
	req := &imagegen.Request{Prompt: "a red fox in the snow", Size: imagegen.Wide16x9}
	result, err := client.Generate(context.Background(), req, imagegen.Dir(".", "fox-{i}{ext}"))
	if err != nil {
		log.Fatal(err)
	}
	for _, image := range result.Images {
		fmt.Println(image.Path, image.Width, image.Height)
	}
}

// A paid task is never lost: its identifier can be stored when it is known, and is in the error when waiting ends early.
func ExampleClient_Wait() {
	client, _ := imagegen.New(imagegen.Config{BaseURL: "https://images.example", Trace: func(e imagegen.Event) {
		if e.Kind == imagegen.EventTask {
			_ = os.WriteFile("task", []byte(e.TaskID), 0o600)
		}
	}})
	ctx := context.Background()
	_, err := client.Generate(ctx, &imagegen.Request{Prompt: "a red fox"}, imagegen.Dir(".", ""))
	if w := (*imagegen.WaitError)(nil); errors.As(err, &w) {
		_, err = client.Wait(ctx, w.TaskID, imagegen.Dir(".", ""))
	}
	if err != nil {
		log.Print(err)
	}
}

func ExampleRatio_Crop() {
	x, y, w, h := imagegen.Wide16x9.Crop(1196, 1315)
	fmt.Println(x, y, w, h)
	// Output: 0 321 1196 673
}

// The fake stands in for the service in the tests of a program.
func Example_fake() {
	test := func(t *testing.T) {
		fake := imagegentest.New(t, imagegentest.Options{Mode: imagegentest.Async})
		fake.Script(imagegentest.Fail("not allowed"))
		_, err := fake.Client(nil).Generate(t.Context(), &imagegen.Request{Prompt: "x"}, imagegen.Memory())
		if err == nil || fake.Counts().Generations != 1 {
			t.Error(err)
		}
	}
	_ = test
}
