package audios3_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"lessonkit.example/feedback/audios3"
)

func ExampleNew() {
	store, err := audios3.New(audios3.Config{
		URL:             "s3://recordings/school?endpoint=https://s3.school.example&region=eu-north-1",
		AccessKeyID:     os.Getenv("AWS_ACCESS_KEY_ID"),
		SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"),
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	staged, err := store.Stage(ctx, strings.NewReader("#!AMR\n…"), 1<<20)
	if err != nil {
		log.Fatal(err)
	}
	defer staged.Discard() // has no effect on kept audio
	kept, err := staged.Keep(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(kept.Key, kept.ContentType)
}
