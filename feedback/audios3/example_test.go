package audios3_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"lessonkit.example/feedback/audios3"
)

func Example() {
	store, err := audios3.New(audios3.Config{
		URL:             "s3://recordings/school?endpoint=https://s3.school.example&region=eu-north-1",
		AccessKeyID:     os.Getenv("AWS_ACCESS_KEY_ID"),
		SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(store.Check(context.Background()))
}
