package imagegen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/segmentio/asm/base64"

	"lessonkit.example/imagegen"
	"lessonkit.example/internal/bench/harness"
)

// childSpec is the spec of a child process, which runs one variant.
type childSpec struct {
	Task  string // such as "receive ours"
	URL   string
	N     int
	Bytes int    // of one image
	File  string // reference
	Dir   string // for images
	Fault string
	Calls int // after the first
}

// measurement is the report of a child.
type measurement struct {
	Peak      float64 // MiB above idle
	CPU, Wall float64 // ms, median

	Attempts   int // that a failed call reports
	MayHaveRun bool
}

// child runs a spec and reports a measurement.
func child(spec childSpec) error {
	task, variant, _ := strings.Cut(spec.Task, " ")
	if task == "fault" {
		m, err := fail(variant, spec)
		if err != nil {
			return err
		}
		return harness.Report(m)
	}
	call, err := prepare(task, variant, spec)
	if err != nil {
		return err
	}
	// First one small call, whose memory is released: what is measured is the memory of the large
	// call, not the pages of the program that any first call loads.
	small := spec
	small.N, small.Bytes = 1, 1
	warm, err := prepare("receive", variant, small)
	if err != nil {
		return err
	}
	if err := errors.Join(warm(), clear(small)); err != nil {
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
	var cpu, wall []float64
	for i := range spec.Calls + 1 {
		before, began := harness.ProcessorTime(), time.Now()
		if err := call(); err != nil {
			return err
		}
		if i == 0 {
			peak, err := harness.Memory(pid, "VmHWM")
			if err != nil {
				return err
			}
			m.Peak = (peak - idle) / mib
		} else {
			cpu = append(cpu, float64(harness.ProcessorTime()-before)/1e6)
			wall = append(wall, float64(time.Since(began))/1e6)
		}
		if err := clear(spec); err != nil {
			return err
		}
	}
	m.CPU, m.Wall = harness.Median(cpu), harness.Median(wall)
	return harness.Report(m)
}

// clear checks that the images are complete, and deletes them.
func clear(spec childSpec) error {
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

// prepare returns a function that makes one call of a variant.
func prepare(task, variant string, spec childSpec) (func() error, error) {
	ctx := context.Background()
	base := sizeURL(spec.URL, spec.Bytes)
	switch variant {
	case "ours":
		c, err := imagegen.New(imagegen.Config{BaseURL: base, APIKey: "key"})
		if err != nil {
			return nil, err
		}
		return func() error {
			req := &imagegen.Request{Prompt: "a fox", N: spec.N}
			if task == "send" {
				req.N = 1
				for range spec.N {
					req.References = append(req.References, imagegen.File(spec.File))
				}
			}
			_, err := c.Generate(ctx, req, imagegen.Dir(spec.Dir, ""))
			return err
		}, nil
	case "openai-go":
		c := openai.NewClient(option.WithBaseURL(base+"/v1/"), option.WithAPIKey("key"))
		return func() error {
			if task == "send" {
				return openaiEdit(ctx, c, spec)
			}
			r, err := c.Images.Generate(ctx, openai.ImageGenerateParams{Prompt: "a fox", N: openai.Int(int64(spec.N))})
			if err != nil {
				return err
			}
			return openaiStore(r, spec.Dir)
		}, nil
	}
	if task == "send" {
		return func() error { return floorSend(spec) }, nil
	}
	return func() error { return floorReceive(base+"/raw/"+strconv.Itoa(spec.N), spec) }, nil
}

func openaiStore(r *openai.ImagesResponse, dir string) error {
	for i, image := range r.Data {
		data, err := base64.StdEncoding.DecodeString(image.B64JSON)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("image-%d.png", i)), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func openaiEdit(ctx context.Context, c openai.Client, spec childSpec) error {
	var files []io.Reader
	for range spec.N {
		f, err := os.Open(spec.File)
		if err != nil {
			return err
		}
		defer f.Close()
		files = append(files, openai.File(f, "reference.png", "image/png"))
	}
	images := openai.ImageEditParamsImageUnion{OfFileArray: files}
	r, err := c.Images.Edit(ctx, openai.ImageEditParams{Prompt: "a fox", Image: images})
	if err != nil {
		return err
	}
	return openaiStore(r, spec.Dir)
}

// floorReceive reads bare base64 text, decodes it in blocks, and writes it to as many files as
// there are images.
func floorReceive(url string, spec childSpec) error {
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	in, out := make([]byte, 64<<10), make([]byte, 48<<10)
	share := resp.ContentLength / int64(spec.N)
	for i := range spec.N {
		f, err := os.Create(filepath.Join(spec.Dir, fmt.Sprintf("image-%d.png", i)))
		if err != nil {
			return err
		}
		held := 0
		for left := share; left > 0; {
			n, err := resp.Body.Read(in[held:min(int64(len(in)), int64(held)+left)])
			left -= int64(n)
			held += n
			whole := held &^ 3
			k, decodeErr := base64.StdEncoding.Decode(out, in[:whole])
			if decodeErr != nil {
				return decodeErr
			}
			if _, err := f.Write(out[:k]); err != nil {
				return err
			}
			held = copy(in, in[whole:held])
			if err != nil && left > 0 {
				return err
			}
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// floorSend sends one file as the body of a request. It hides that the body is a file: over TLS,
// which every paid service uses, the kernel cannot send the file by itself either.
func floorSend(spec childSpec) error {
	f, err := os.Open(spec.File)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodPost, spec.URL+"/sink", struct{ io.Reader }{f})
	if err != nil {
		return err
	}
	req.ContentLength = info.Size()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// fail makes one call that fails, and returns what it reports.
func fail(variant string, spec childSpec) (m measurement, err error) {
	base := spec.URL + "/fault/" + spec.Fault
	h := &http.Client{Transport: &http.Transport{}}
	if spec.Fault == "slow" {
		h.Timeout = 300 * time.Millisecond
	}
	if variant == "openai-go" {
		c := openai.NewClient(option.WithBaseURL(base+"/v1/"), option.WithAPIKey("key"), option.WithHTTPClient(h))
		if _, err := c.Images.Generate(context.Background(), openai.ImageGenerateParams{Prompt: "a fox"}); err == nil {
			return m, errors.New("the call succeeded")
		}
		return m, nil
	}
	c, err := imagegen.New(imagegen.Config{BaseURL: base, HTTPClient: h,
		Retry: imagegen.Retry{UnsentOnly: variant == "unsent"}})
	if err != nil {
		return m, err
	}
	_, err = c.Generate(context.Background(), &imagegen.Request{Prompt: "a fox"}, imagegen.Memory())
	var e *imagegen.Error
	if !errors.As(err, &e) {
		return m, fmt.Errorf("not an *imagegen.Error: %v", err)
	}
	m.Attempts, m.MayHaveRun = e.Attempts, e.MayHaveRun
	return m, nil
}
