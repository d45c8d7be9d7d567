package fit_test

import (
	"context"
	"fmt"
	"log"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/fit"
)

func ExampleSink() {
	client, err := imagegen.New(imagegen.Config{BaseURL: "https://images.example"})
	if err != nil {
		log.Fatal(err)
	}
	sink := fit.Sink(imagegen.Dir(".", "fox{ext}"),
		fit.Config{Ratio: "16:9", OnUncropped: func(i imagegen.Info, err error) {
			log.Printf("image %d is not cropped: %v", i.Index, err)
		}})
	result, err := client.Generate(context.Background(), &imagegen.Request{Prompt: "a red fox", Size: "16:9"}, sink)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Images[0].Width, result.Images[0].Height)
}
