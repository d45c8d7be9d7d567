// Package draw is a generator without a model. It paints gradients derived from a hash of the
// prompt, so that a gateway has real pictures to serve in demonstrations and tests.
//
//	tasks := gateway.NewMemoryTasks(gateway.Performer{Generator: draw.Generator{}, Files: files}, 2)
package draw

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"time"

	"lessonkit.example/imagegen"
)

// Generator paints pictures. The zero value works. It is safe for concurrent use.
type Generator struct {
	LongEdge int           // longer side in pixels, at most 4096; 1280 if it is not positive
	Delay    time.Duration // how long each picture takes, to imitate a slow service
}

// Generate stores req.N PNG images (one if N is 0) of ratio req.Size (square if empty) in sink.
// Equal requests give equal pixels. References change nothing.
func (g Generator) Generate(ctx context.Context, req *imagegen.Request, sink imagegen.Sink) (*imagegen.Result, error) {
	edge := min(g.LongEdge, 4096)
	if edge <= 0 {
		edge = 1280
	}
	_, _, w, h := cmp.Or(req.Size, "1:1").Crop(edge, edge)
	result := &imagegen.Result{Attempts: 1}
	for i := range max(req.N, 1) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(g.Delay):
		}
		var data bytes.Buffer
		if err := png.Encode(&data, picture(req.Prompt, i, w, h)); err != nil {
			return nil, fmt.Errorf("draw: %w", err)
		}
		info := imagegen.Info{Index: i, Type: "image/png", Ext: ".png", Width: w, Height: h,
			Size: int64(data.Len()), Prompt: req.Prompt}
		blob, err := sink.Open(ctx, info)
		if err != nil {
			return nil, fmt.Errorf("draw: store: %w", err)
		}
		if _, err := blob.Write(data.Bytes()); err != nil {
			return nil, fmt.Errorf("draw: store: %w", errors.Join(err, blob.Abort()))
		}
		if err := blob.Commit(); err != nil {
			return nil, fmt.Errorf("draw: store: %w", err)
		}
		result.Images = append(result.Images, info)
	}
	return result, nil
}

// picture paints image number index of a prompt: a gradient of two colors.
func picture(prompt string, index, w, h int) image.Image {
	rng := rand.New(rand.NewChaCha8(sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", prompt, index))))
	var from, to [3]float64
	for k := range 3 {
		from[k], to[k] = 255*rng.Float64(), 255*rng.Float64()
	}
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			part := float64(x+y) / float64(w+h)
			pixel := img.Pix[img.PixOffset(x, y):]
			for k := range 3 {
				pixel[k] = uint8(from[k]*(1-part) + to[k]*part)
			}
			pixel[3] = 255
		}
	}
	return img
}
