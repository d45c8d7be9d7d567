package fit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"log"
	"net/http"
	"net/http/httptest"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/fit"
)

// The service treats the ratio as a wish; the sink makes it true.
func Example() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var data bytes.Buffer
		_ = png.Encode(&data, image.NewGray(image.Rect(0, 0, 1196, 1315)))
		_ = json.NewEncoder(w).Encode(map[string]any{"data": []any{map[string]any{"b64_json": data.Bytes()}}})
	}))
	defer service.Close()
	client, err := imagegen.New(imagegen.Config{BaseURL: service.URL})
	if err != nil {
		log.Fatal(err)
	}

	images := imagegen.Memory() // or imagegen.Dir(".", "fox{ext}")
	sink := fit.Sink(images, fit.Config{
		Ratio: "16:9",
		Type:  "image/jpeg",
		OnUncropped: func(i imagegen.Info, err error) {
			log.Printf("image %d is not cropped: %v", i.Index, err)
		},
	})
	result, err := client.Generate(context.Background(), &imagegen.Request{Prompt: "a red fox", Size: "16:9"}, sink)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Images[0].Type, result.Images[0].Width, result.Images[0].Height)
	// Output: image/jpeg 1196 673
}
