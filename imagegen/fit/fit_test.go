package fit_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/fit"
	"lessonkit.example/imagegen/imagegentest"
)

// corners is an image whose four quarters are red, green, blue and white, clockwise from the top
// left.
func corners(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.NRGBA{255, 0, 0, 255}
			switch {
			case x >= w/2 && y < h/2:
				c = color.NRGBA{0, 255, 0, 255}
			case x >= w/2:
				c = color.NRGBA{0, 0, 255, 255}
			case y >= h/2:
				c = color.NRGBA{255, 255, 255, 255}
			}
			img.SetNRGBA(x, y, c)
		}
	}
	return img
}

func encodePNG(t *testing.T, img image.Image) []byte {
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes()
}

func encodeJPEG(t *testing.T, img image.Image) []byte {
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, img, &jpeg.Options{Quality: 95}))
	return b.Bytes()
}

// turned adds an EXIF block with an orientation to a JPEG.
func turned(data []byte, orientation uint16, order binary.AppendByteOrder) []byte {
	tiff := []byte("Exif\x00\x00II*\x00\x08\x00\x00\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		tiff = []byte("Exif\x00\x00MM\x00*\x00\x00\x00\x08")
	}
	tiff = order.AppendUint16(tiff, 2)
	tiff = append(order.AppendUint32(order.AppendUint16(order.AppendUint16(tiff, 0x010f), 2), 1), 0, 0, 0, 0)
	tiff = order.AppendUint32(order.AppendUint16(order.AppendUint16(tiff, 0x0112), 3), 1)
	tiff = append(order.AppendUint16(tiff, orientation), 0, 0, 0, 0, 0, 0)
	segment := binary.BigEndian.AppendUint16([]byte{0xff, 0xd8, 0xff, 0xe1}, uint16(len(tiff)+2))
	return append(append(segment, tiff...), data[2:]...)
}

// crop passes an image through a sink.
func crop(t *testing.T, data []byte, c fit.Config) (out []byte, mediaType string, failed error) {
	t.Helper()
	c.OnUncropped = func(_ imagegen.Info, err error) { failed = err }
	images := imagegen.Memory()
	info := imagegen.Info{Type: imagegen.DetectType(data)}
	b, err := fit.Sink(images, c).Open(t.Context(), info)
	require.NoError(t, err)
	_, err = b.Write(data)
	require.NoError(t, err)
	require.NoError(t, b.Commit())
	if d, ok := b.(imagegen.Describer); ok {
		d.Describe(&info)
	}
	return images.Get(0), info.Type, failed
}

func near(t *testing.T, img image.Image, x, y int, want string) {
	t.Helper()
	r, g, b, _ := img.At(x, y).RGBA()
	name := map[[3]bool]string{{true, false, false}: "red", {false, true, false}: "green",
		{false, false, true}: "blue",
		{true, true, true}:   "white"}[[3]bool{r > 0x8000, g > 0x8000, b > 0x8000}]
	require.Equal(t, want, name)
}

func TestCropKeepsTheMiddle(t *testing.T) {
	t.Parallel()
	for _, data := range [][]byte{encodePNG(t, corners(200, 100)), encodeJPEG(t, corners(200, 100))} {
		out, kind, err := crop(t, data, fit.Config{Ratio: "1:1"})
		require.NoError(t, err)
		img, format, err := image.Decode(bytes.NewReader(out))
		require.NoError(t, err)
		require.Equal(t, "image/"+format, kind)
		require.Equal(t, image.Pt(100, 100), img.Bounds().Size())
		at := img.Bounds().Min
		for i, c := range []string{"red", "green", "blue", "white"} {
			near(t, img, at.X+[]int{5, 95, 95, 5}[i], at.Y+[]int{5, 5, 95, 95}[i], c)
		}
	}
}

// The colors in the corners of the displayed image, for each orientation.
func TestOrientationIsAppliedFirst(t *testing.T) {
	t.Parallel()
	shown := map[uint16][4]string{
		1: {"red", "green", "blue", "white"}, 2: {"green", "red", "white", "blue"},
		3: {"blue", "white", "red", "green"},
		4: {"white", "blue", "green", "red"}, 5: {"red", "white", "blue", "green"},
		6: {"white", "red", "green", "blue"},
		7: {"blue", "green", "red", "white"}, 8: {"green", "blue", "white", "red"}}
	for turn, want := range shown {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			data := turned(encodeJPEG(t, corners(320, 160)), turn, order)
			out, _, err := crop(t, data, fit.Config{Ratio: "4:5"})
			require.NoError(t, err)
			img, err := jpeg.Decode(bytes.NewReader(out))
			require.NoError(t, err)
			w, h := img.Bounds().Dx(), img.Bounds().Dy()
			require.True(t, imagegen.Ratio("4:5").Matches(w, h), "%dx%d", w, h)
			require.Equal(t, map[bool]int{false: 160, true: 200}[turn >= 5], h, "orientation %d", turn)
			at := img.Bounds().Min
			for i, c := range want {
				near(t, img, at.X+[]int{5, w - 5, w - 5, 5}[i], at.Y+[]int{5, 5, h - 5, h - 5}[i], c)
			}
		}
	}
	upright := turned(encodeJPEG(t, corners(320, 180)), 6, binary.LittleEndian)
	out, _, err := crop(t, upright, fit.Config{Ratio: "9:16"})
	require.NoError(t, err)
	require.Equal(t, upright, out, "shown as 9:16, so it is left alone")
}

func TestOrientationOfPNG(t *testing.T) {
	t.Parallel()
	data := encodePNG(t, corners(160, 90))
	chunk := []byte("eXIfII*\x00\x08\x00\x00\x00\x01\x00" + // one entry:
		"\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00") // orientation 6
	const header = 33 // signature and IHDR
	turned := binary.BigEndian.AppendUint32(bytes.Clone(data[:header]), uint32(len(chunk)-4))
	turned = binary.BigEndian.AppendUint32(append(turned, chunk...), crc32.ChecksumIEEE(chunk))
	turned = append(turned, data[header:]...)
	out, _, err := crop(t, turned, fit.Config{Ratio: "9:16"})
	require.NoError(t, err)
	require.Equal(t, turned, out, "displayed as 9:16, so it is not changed")
}

func TestMatchingImageIsUnchanged(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{160, 90}, {1600, 893}, {1600, 907}} {
		data := encodePNG(t, corners(size[0], size[1]))
		out, _, err := crop(t, data, fit.Config{Ratio: "16:9"})
		require.NoError(t, err)
		require.Equal(t, data, out)
	}
	out, _, err := crop(t, encodePNG(t, corners(1600, 920)), fit.Config{Ratio: "16:9"})
	require.NoError(t, err)
	c, err := png.DecodeConfig(bytes.NewReader(out))
	require.NoError(t, err)
	require.Equal(t, 900, c.Height)
}

func TestWebPBecomesPNG(t *testing.T) {
	t.Parallel()
	// a lossless WebP of one pixel by four, written by hand: 14 bits each of width-1 and height-1
	// in the header
	data, err := base64.StdEncoding.DecodeString("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
	require.NoError(t, err)
	out, kind, err := crop(t, data, fit.Config{Ratio: "2:1"})
	require.NoError(t, err)
	require.Equal(t, "image/png", kind)
	_, err = png.Decode(bytes.NewReader(out))
	require.NoError(t, err)
}

func TestSinkCropsAndDescribes(t *testing.T) {
	t.Parallel()
	fake := imagegentest.New(t, imagegentest.Options{Image: func(_ imagegentest.Post, i int) []byte {
		switch i {
		case 0:
			return encodePNG(t, corners(1196, 1315))
		case 1:
			return []byte("GIF89a not to be cropped")
		}
		return append(encodePNG(t, corners(30, 40))[:60], "broken"...)
	}})
	dir := t.TempDir()
	kept := map[int]error{}
	sink := fit.Sink(imagegen.Dir(dir, ""),
		fit.Config{Ratio: "16:9", OnUncropped: func(i imagegen.Info, err error) { kept[i.Index] = err }})
	r, err := fake.Client(nil).Generate(t.Context(), &imagegen.Request{Prompt: "x", N: 3, Size: "16:9"}, sink)
	require.NoError(t, err)
	require.Equal(t, [2]int{1196, 673}, [2]int{r.Images[0].Width, r.Images[0].Height})
	data, err := os.ReadFile(filepath.Join(dir, "image-1.png"))
	require.NoError(t, err)
	require.Equal(t, r.Images[0].Size, int64(len(data)))
	require.Equal(t, filepath.Join(dir, "image-1.png"), r.Images[0].Path)
	require.ErrorIs(t, kept[1], fit.ErrUnsupported)
	require.Error(t, kept[2])
	require.Len(t, kept, 2)
	data, err = os.ReadFile(filepath.Join(dir, "image-2.gif"))
	require.NoError(t, err)
	require.Equal(t, "GIF89a not to be cropped", string(data))
	require.FileExists(t, r.Images[2].Path)
}

func TestTypeConverts(t *testing.T) {
	t.Parallel()
	clear := image.NewNRGBA(image.Rect(0, 0, 40, 20)) // transparent
	dark, white := encodeJPEG(t, image.NewGray(clear.Rect)), color.Gray{255}
	for name, test := range map[string]struct {
		data  []byte
		c     fit.Config
		want  string
		color color.Gray
	}{
		"transparent becomes white": {encodePNG(t, clear), fit.Config{Type: "image/jpeg"}, "image/jpeg", white},
		"JPEG to PNG":               {dark, fit.Config{Type: "image/png"}, "image/png", color.Gray{0}},
		"cropped": {encodePNG(t, clear), fit.Config{Type: "image/jpeg", Ratio: "1:1"},
			"image/jpeg", white},
	} {
		out, mediaType, err := crop(t, test.data, test.c)
		require.NoError(t, err, name)
		require.Equal(t, test.want, mediaType, name)
		img, format, err := image.Decode(bytes.NewReader(out))
		require.NoError(t, err, name)
		require.Equal(t, test.want, "image/"+format, name)
		require.True(t, test.c.Ratio.Matches(img.Bounds().Dx(), img.Bounds().Dy()), name)
		require.Equal(t, test.color, color.GrayModel.Convert(img.At(10, 10)), name)
	}
	data := encodePNG(t, clear)
	out, _, err := crop(t, data, fit.Config{Type: "image/png"})
	require.NoError(t, err)
	require.Equal(t, data, out, "it has the type already")
	_, _, err = crop(t, data, fit.Config{Type: "image/webp"})
	require.ErrorIs(t, err, fit.ErrUnsupported)
	wide := encodePNG(t, image.NewGray(image.Rect(0, 0, 70_000, 1)))
	_, _, err = crop(t, wide, fit.Config{Type: "image/jpeg"})
	require.ErrorIs(t, err, fit.ErrTooManyPixels, "a JPEG cannot be so wide")
}

func TestSinkRefusesAnInvalidRatioBeforeAnythingIsPaid(t *testing.T) {
	t.Parallel()
	fake := imagegentest.New(t, imagegentest.Options{})
	_, err := fake.Client(nil).Generate(t.Context(), &imagegen.Request{Prompt: "x"},
		fit.Sink(imagegen.Memory(), fit.Config{Ratio: "7:5"}))
	require.ErrorContains(t, err, "use one of")
	require.Zero(t, fake.Counts().Requests)
}
