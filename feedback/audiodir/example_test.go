package audiodir_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"lessonkit.example/feedback/audiodir"
)

func Example() {
	dir, err := os.MkdirTemp("", "audio")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := audiodir.New(dir)
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
	fmt.Println(kept.ContentType, staged.Info().Size, err)
	// Output: audio/amr 9 <nil>
}
