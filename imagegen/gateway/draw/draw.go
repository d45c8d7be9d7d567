// Package draw is a generator without a model: it draws landscapes, veils of colour and mosaics from the hash of the prompt, so
// that a gateway, a demonstration or a test has real pictures at once and for nothing.
//
// [Generator.Generate] has the shape of imagegen.Client's, so a Generator stands wherever a client does. The same request always
// gives the same pixels.
package draw

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // references may be JPEG
	"image/png"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"lessonkit.example/imagegen"
)

// Config says what pictures look like. The zero value works.
type Config struct {
	// LongEdge is the longer side in pixels, at most 4096. Defaults to 1280.
	LongEdge int

	// Delay is how long each picture pretends to take, for trying out slow services. Defaults to none.
	Delay time.Duration

	// MaxImages is the most a request may ask for. Defaults to 8.
	MaxImages int

	// Now is the clock for the time of creation. Defaults to [time.Now].
	Now func() time.Time
}

// Generator draws pictures. It is safe for concurrent use.
type Generator struct{ c Config }

// New makes a Generator.
func New(c Config) *Generator {
	if c.LongEdge <= 0 {
		c.LongEdge = 1280
	}
	c.LongEdge = min(max(c.LongEdge, 16), 4096)
	if c.MaxImages <= 0 {
		c.MaxImages = 8
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Generator{c}
}

// requestError is a request that cannot be drawn, whoever tries.
type requestError struct{ error }

func (requestError) Permanent() bool { return true }
func (e requestError) Unwrap() error { return e.error }

// Generate draws n pictures (one, if n is 0) of the ratio asked for (square, if none) and stores them as PNG. A reference image lends
// its average colour.
func (g *Generator) Generate(ctx context.Context, req *imagegen.Request, sink imagegen.Sink) (*imagegen.Result, error) {
	n := max(req.N, 1)
	if n > g.c.MaxImages {
		return nil, requestError{fmt.Errorf("draw: %d images, at most %d", n, g.c.MaxImages)}
	}
	ratio := req.Size
	if ratio == "" {
		ratio = imagegen.Square
	}
	tint, err := averages(req.Refs)
	if err != nil {
		return nil, err
	}
	_, _, w, h := ratio.Crop(g.c.LongEdge, g.c.LongEdge)
	result := &imagegen.Result{Created: g.c.Now().UTC(), Attempts: 1}
	for i := range n {
		if g.c.Delay > 0 {
			timer := time.NewTimer(g.c.Delay)
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
			timer.Stop()
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		info := imagegen.Info{Index: i, Type: "image/png", Ext: ".png", Width: w, Height: h, Prompt: req.Prompt, Received: g.c.Now().UTC()}
		if err := store(ctx, sink, &info, picture(req.Prompt, i, w, h, tint)); err != nil {
			return nil, err
		}
		result.Images = append(result.Images, info)
	}
	return result, nil
}

// store encodes a picture straight into the sink.
func store(ctx context.Context, sink imagegen.Sink, info *imagegen.Info, img image.Image) error {
	blob, err := sink.Open(ctx, *info)
	if err != nil {
		return fmt.Errorf("draw: store: %w", err)
	}
	count := &counter{w: blob}
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(count, img); err != nil {
		return errors.Join(fmt.Errorf("draw: store: %w", err), blob.Abort())
	}
	if err := blob.Commit(); err != nil {
		return fmt.Errorf("draw: store: %w", err)
	}
	info.Size = count.n
	if d, ok := blob.(imagegen.Describer); ok {
		d.Describe(info)
	}
	return nil
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// averages returns the average colour of each reference that can be decoded; another one adds nothing.
func averages(refs []imagegen.Ref) ([]lab, error) {
	var all []lab
	for _, ref := range refs {
		r, err := ref.Open()
		if err != nil {
			return nil, fmt.Errorf("draw: reference: %w", err)
		}
		img, _, err := image.Decode(io.LimitReader(r, 64<<20))
		r.Close()
		if err != nil {
			continue
		}
		var sum lab
		b := img.Bounds()
		const grid = 16
		for i := range grid * grid {
			c := fromColor(img.At(b.Min.X+b.Dx()*(i%grid)/grid, b.Min.Y+b.Dy()*(i/grid)/grid))
			sum = lab{sum.l + c.l/(grid*grid), sum.a + c.a/(grid*grid), sum.b + c.b/(grid*grid)}
		}
		all = append(all, sum)
	}
	return all, nil
}

// picture draws number index for a prompt, w by h pixels. tint pulls the palette towards colours.
func picture(prompt string, index, w, h int, tint []lab) *image.NRGBA {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", prompt, index))
	rng := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])))
	p := newPalette(rng, tint)
	paint := []func(*rand.Rand, palette, float64) shader{hills, veils, mosaic}[sum[16]%3](rng, p, float64(w)/float64(h))
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	seed := binary.LittleEndian.Uint64(sum[24:])
	pixel := 1 / float64(h)
	bytes := newTable()
	var rows sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for first := range workers {
		rows.Go(func() {
			for y := first; y < h; y += workers {
				grain := rand.New(rand.NewPCG(seed, uint64(y)))
				row := img.Pix[y*img.Stride:]
				for x := range w {
					c := paint((float64(x)+0.5)*pixel, (float64(y)+0.5)*pixel, pixel)
					c.l += (grain.Float64() - 0.5) * 0.008 // hides the steps of smooth gradients
					r, g, b := c.fitted().linear()
					row[x*4], row[x*4+1], row[x*4+2], row[x*4+3] = bytes.encode(r), bytes.encode(g), bytes.encode(b), 255
				}
			}
		})
	}
	rows.Wait()
	return img
}

// shader gives the colour at a point, both coordinates in units of the picture's height from its top left corner; pixel is the
// size of a pixel, over which edges are softened.
type shader func(x, y, pixel float64) lab
