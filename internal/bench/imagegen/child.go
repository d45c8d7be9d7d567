package imagegen

import (
	"context"
	"encoding/base64"
	"errors"
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
func child(spec childSpec) error {
	// First one small call, whose memory is released: what is measured is the memory of the large
	// call, not the pages of the program that any first call loads.
	small := spec
	small.N, small.Bytes, small.File = 1, 1, ""
	if err := run(small); err != nil {
		return err
	}
	http.DefaultClient.CloseIdleConnections()
	debug.FreeOSMemory()
	pid := os.Getpid()
	if err := harness.ResetPeak(pid); err != nil {
		return err
	}
	idle, err := harness.Memory(pid, "VmHWM")
	if err != nil {
		return err
	}
	var m measurement
	var cpu []float64
	for i := range calls + 1 {
		before := harness.ProcessorTime()
		if err := run(spec); err != nil {
			return err
		}
		if i > 0 {
			cpu = append(cpu, float64(harness.ProcessorTime()-before)/1e6)
			continue
		}
		peak, err := harness.Memory(pid, "VmHWM")
		if err != nil {
			return err
		}
		m.Peak = (peak - idle) / mib
	}
	m.CPU = harness.Median(cpu)
	return harness.Report(m)
}

// run makes one call, checks that the images are complete, and deletes them.
func run(spec childSpec) error {
	call := runOurs
	if spec.Side == "openai-go" {
		call = runPeer
	}
	ctx, base := context.Background(), sizeURL(spec.URL, spec.Bytes)
	if err := call(ctx, base, spec); err != nil {
		return err
	}
	names, err := filepath.Glob(filepath.Join(spec.Dir, "image-*"))
	if err != nil {
		return err
	}
	if spec.Bytes > 0 && len(names) != spec.N {
		return fmt.Errorf("%d images instead of %d", len(names), spec.N)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		if int(info.Size()) < spec.Bytes {
			return fmt.Errorf("%s has %d bytes", name, info.Size())
		}
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

func runOurs(ctx context.Context, base string, spec childSpec) error {
	c, err := imagegen.New(imagegen.Config{BaseURL: base, APIKey: "key"})
	if err != nil {
		return err
	}
	req := &imagegen.Request{Prompt: "a fox", N: spec.N}
	if spec.File != "" {
		req.N = 1
		for range spec.N {
			req.References = append(req.References, imagegen.File(spec.File))
		}
	}
	_, err = c.Generate(ctx, req, imagegen.Dir(spec.Dir, ""))
	return err
}

func runPeer(ctx context.Context, base string, spec childSpec) (err error) {
	c := openai.NewClient(option.WithBaseURL(base+"/v1/"), option.WithAPIKey("key"))
	var r *openai.ImagesResponse
	if spec.File == "" {
		r, err = c.Images.Generate(ctx, openai.ImageGenerateParams{Prompt: "a fox", N: openai.Int(int64(spec.N))})
	} else {
		var files []io.Reader
		for range spec.N {
			f, err := os.Open(spec.File)
			if err != nil {
				return err
			}
			defer f.Close()
			files = append(files, openai.File(f, "reference.png", "image/png"))
		}
		r, err = c.Images.Edit(ctx, openai.ImageEditParams{Prompt: "a fox",
			Image: openai.ImageEditParamsImageUnion{OfFileArray: files}})
	}
	if err != nil {
		return err
	}
	for i, image := range r.Data {
		data, decodeErr := base64.StdEncoding.DecodeString(image.B64JSON)
		writeErr := os.WriteFile(filepath.Join(spec.Dir, fmt.Sprintf("image-%d.png", i)), data, 0o644)
		if err := errors.Join(decodeErr, writeErr); err != nil {
			return err
		}
	}
	return nil
}
