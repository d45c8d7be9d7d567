package imagegen

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"lessonkit.example/imagegen"
	"lessonkit.example/internal/bench/harness"
)

// childSpec is the spec of a child process, which runs one side.
type childSpec struct {
	Side  string // ours or openai-go
	URL   string
	N     int    // of images to receive, or of references to send
	Bytes int    // of one image
	File  string // reference; without one nothing is sent
	Dir   string // for images
}

// measurement is the report of a child.
type measurement struct {
	Peak float64 // MiB above idle
	CPU  float64 // ms, median
}

// calls is the number of calls after the first.
const calls = 3

// child runs a spec and reports a measurement.
func child(spec childSpec) {
	// First one small call, whose memory is released: what is measured is the memory of the large
	// call, not the pages of the program that any first call loads.
	small := spec
	small.N, small.Bytes, small.File = 1, 1, ""
	run(small)
	http.DefaultClient.CloseIdleConnections()
	debug.FreeOSMemory()
	pid := os.Getpid()
	harness.ResetPeak(pid)
	idle := harness.Memory(pid, "VmHWM")
	var m measurement
	var cpu []float64
	for i := range calls + 1 {
		before := harness.ProcessorTime()
		run(spec)
		if i > 0 {
			cpu = append(cpu, float64(harness.ProcessorTime()-before)/1e6)
			continue
		}
		peak := harness.Memory(pid, "VmHWM")
		m.Peak = (peak - idle) / mib
	}
	m.CPU = harness.Median(cpu)
	harness.Report(m)
}

// run makes one call, checks that the images are complete, and deletes them.
func run(spec childSpec) {
	call := runOurs
	if spec.Side == "openai-go" {
		call = runPeer
	}
	ctx, base := context.Background(), fmt.Sprint(spec.URL, "/size/", spec.Bytes)
	call(ctx, base, spec)
	names := harness.Must(filepath.Glob(filepath.Join(spec.Dir, "image-*")))
	if spec.Bytes > 0 && len(names) != spec.N {
		harness.Check(fmt.Errorf("%d images instead of %d", len(names), spec.N))
	}
	for _, name := range names {
		if size := harness.Must(os.Stat(name)).Size(); int(size) < spec.Bytes {
			harness.Check(fmt.Errorf("%s has %d bytes", name, size))
		}
		harness.Check(os.Remove(name))
	}
}

func runOurs(ctx context.Context, base string, spec childSpec) {
	c := harness.Must(imagegen.New(imagegen.Config{BaseURL: base, APIKey: "key"}))
	req := &imagegen.Request{Prompt: "a fox", N: spec.N}
	if spec.File != "" {
		req.N = 1
		for range spec.N {
			req.References = append(req.References, imagegen.File(spec.File))
		}
	}
	harness.Must(c.Generate(ctx, req, imagegen.Dir(spec.Dir, "")))
}

func runPeer(ctx context.Context, base string, spec childSpec) {
	c := openai.NewClient(option.WithBaseURL(base+"/v1/"), option.WithAPIKey("key"))
	var r *openai.ImagesResponse
	if spec.File == "" {
		r = harness.Must(c.Images.Generate(ctx,
			openai.ImageGenerateParams{Prompt: "a fox", N: openai.Int(int64(spec.N))}))
	} else {
		var files []io.Reader
		for range spec.N {
			f := harness.Must(os.Open(spec.File))
			defer f.Close()
			files = append(files, openai.File(f, "reference.png", "image/png"))
		}
		r = harness.Must(c.Images.Edit(ctx, openai.ImageEditParams{Prompt: "a fox",
			Image: openai.ImageEditParamsImageUnion{OfFileArray: files}}))
	}
	for i, image := range r.Data {
		data := harness.Must(base64.StdEncoding.DecodeString(image.B64JSON))
		harness.Check(os.WriteFile(filepath.Join(spec.Dir, fmt.Sprintf("image-%d.png", i)), data, 0o644))
	}
}
