package imagegen

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// plainImage keeps what a scanner writes.
type plainImage struct {
	bytes.Buffer
	err      error
	finished bool
}

func (p *plainImage) finish(err error) { p.err, p.finished = err, true }

// scanAll runs the scanner over r.
func scanAll(r io.Reader) (images map[int]*plainImage, meta []byte, err error) {
	images = map[int]*plainImage{}
	s := newScanner(r, func(i int) imageWriter {
		images[i] = &plainImage{}
		return images[i]
	})
	err = s.scan()
	return images, s.meta, err
}

// documents are responses, with the images in them by index; "!" is one whose data is bad.
func documents() map[string]map[int]string {
	return map[string]map[int]string{
		`{"created":1,"data":[{"b64_json":"aGVsbG8gd29ybGQ=","revised_prompt":"a \"fox\\\""},{"b64_json":"Zm94"}],` +
			`"usage":{"input_tokens":3}}`: {0: "hello world", 1: "fox"},
		"\ufeff" + ` { "data" : [ { "b64_json" : "Zm94" } ] } `:            {0: "fox"},
		`{"data":[{"b64_json":"data:image/png;base64,aGVsbG8gd29ybGQ="}]}`: {0: "hello world"},
		`{"data":[{"b64_json":"data:image/png,aGVsbG8gd29ybGQ="}]}`:        {0: "!"},
		`{"data":{"b64_json":"aGVsbG8\/d29ybGQ"}}`:                         {0: "hello?world"},
		`{"data":[{"b64_json":"aGVs\u002bG8\nd29y\r\nbGQ"}]}`: {
			0: "hel\xf8o\x1d\xdb\u071b\x19"},
		`{"data":[{"b64_json":"Zm9\u0034"},{"b64_json":"Zm\u00e94"}]}`:                {0: "fox", 1: "!"},
		`{"data":[{"b64_json":"_-_-"},{"b64_json":null},{"b64_json":""}]}`:            {0: "\xff\xef\xfe"},
		`{"data":[{},{"b64_json":"-_+/"}],"x":[[{"b64_json":"no"}]],"b64_json":"no"}`: {1: "\xfb\xff\xbf"},
		`{"data":{"id":"t","result":{"images":[{"url":["u"]},{"b64_json":"Zm94"}]}}}`: {1: "fox"},
		`{"data":[{"b64_json":"QQ=="},{"b64_json":"QQ="},{"b64_json":"QQ==QQ"},{"b64_json":"QQ=Q"}]}`: {0: "A",
			1: "!", 2: "!", 3: "!"},
		`{"data":[{"b64_json":"Q"},{"b64_json":"é"},{"b64_json":"AA\qAA"}]}`: {0: "!", 1: "!", 2: "!"},
		"{\"data\":[{\"b64_json\":\"AA\nAA\"}]}":                             {0: "!"},
		"{\"data\":[{\"b64_json\":\"data:\x00;base64,Zm94\"}]}":              {0: "!"},
		`{"data":[{"b64_json":"data:\q;base64,Zm94"}]}`:                      {0: "!"},
		`{"data":["b64_json","QQ==",{"prompt":"b64_json","b64_json":5}]}`:    {},
	}
}

func TestScannerFindsImages(t *testing.T) {
	t.Parallel()
	for doc, want := range documents() {
		t.Run(doc, func(t *testing.T) {
			t.Parallel()
			for _, r := range []io.Reader{strings.NewReader(doc), iotest.OneByteReader(strings.NewReader(doc)),
				iotest.DataErrReader(strings.NewReader(doc))} {
				images, meta, err := scanAll(r)
				require.NoError(t, err)
				require.True(t, json.Valid(meta), "%s", meta)
				got := map[int]string{}
				for i, image := range images {
					require.True(t, image.finished)
					if got[i] = image.String(); image.err != nil {
						got[i] = "!"
					}
				}
				require.Equal(t, want, got)
			}
		})
	}
}

func TestInvalidDocumentsAreRefused(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{`{"n":01}`, `{"a":tru}`, `{"a" 1}`, `{,}`, `{"a":1,}`, `[1]`, `{}x`, `{}}`, `{]`,
		"{\"a\":\"\t\"}", `{"data":[{"b64_json":"AAAA","b64_json":"BBBB"}]}`, `<html>`, `{"data":{]}`} {
		_, meta, err := scanAll(strings.NewReader(doc))
		if err == nil {
			_, err = interpret(meta)
		}
		require.ErrorIs(t, err, errSyntax, doc)
	}
}

// FuzzScanner scans any document, whole and byte by byte. What is not JSON is refused, or spoils an
// image.
func FuzzScanner(f *testing.F) {
	for doc := range documents() {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		images, meta, err := scanAll(bytes.NewReader(doc))
		same, sameMeta, sameErr := scanAll(iotest.OneByteReader(bytes.NewReader(doc)))
		require.Equal(t, err == nil, sameErr == nil)
		require.Equal(t, meta, sameMeta)
		require.Len(t, same, len(images))
		valid := err == nil && json.Valid(meta)
		for i, image := range images {
			require.True(t, image.finished)
			require.Equal(t, image.Bytes(), same[i].Bytes())
			valid = valid && image.err == nil
		}
		require.False(t, valid && !json.Valid(bytes.TrimPrefix(doc, []byte(byteOrderMark))), "%q", doc)
	})
}

func TestScannerOfLargeImages(t *testing.T) {
	t.Parallel()
	data := make([]byte, 300_001)
	noise := rand.New(rand.NewPCG(1, 2))
	for i := range data {
		data[i] = byte(noise.Uint32())
	}
	text := base64.StdEncoding.EncodeToString(data)
	for name, encoded := range map[string]string{
		"standard":    text,
		"unpadded":    strings.TrimRight(text, "="),
		"url":         base64.URLEncoding.EncodeToString(data),
		"php slashes": strings.ReplaceAll(text, "/", `\/`),
		"html safe":   strings.ReplaceAll(text, "+", `\u002b`),
		"mime lines":  regexp.MustCompile(`.{76}`).ReplaceAllString(text, `$0\r\n`),
		"data url":    "data:image/png;base64," + text,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := `{"data":[{"b64_json":"` + encoded + `"}]}`
			images, _, err := scanAll(iotest.HalfReader(strings.NewReader(doc)))
			require.NoError(t, err)
			require.NoError(t, images[0].err)
			require.True(t, bytes.Equal(data, images[0].Bytes()))
		})
	}
}

// The decoder works on blocks of scanBuffer characters: what ends one block affects the next.
func TestPaddingAtTheEndOfABlockEndsTheImage(t *testing.T) {
	t.Parallel()
	block := strings.Repeat("A", scanBuffer-2) + "=="
	for text, valid := range map[string]bool{block: true, block + "AAAA": false, block + "==": false,
		"AAAA" + block: true, block[:scanBuffer-1]: false, strings.Repeat("A", scanBuffer) + "-_": true} {
		images, _, err := scanAll(strings.NewReader(`{"data":[{"b64_json":"` + text + `"}]}`))
		require.NoError(t, err)
		require.Equal(t, valid, images[0].err == nil)
	}
}

func TestScannerRefusesEveryTruncation(t *testing.T) {
	t.Parallel()
	doc := `{"created":1,"data":[{"b64_json":"Zm\/4","revised_prompt":"a \"fox\""}],"usage":{"input_tokens":3}}`
	for i := range len(doc) {
		images, _, err := scanAll(strings.NewReader(doc[:i]))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "at byte %d", i)
		for _, p := range images {
			require.True(t, p.finished)
		}
	}
	broken := errors.New("cable cut")
	_, _, err := scanAll(io.MultiReader(strings.NewReader(`{"data":[{"b64_json":"AAAA`), iotest.ErrReader(broken)))
	require.ErrorIs(t, err, broken)
	images, _, err := scanAll(io.MultiReader(strings.NewReader(doc), iotest.ErrReader(broken)))
	require.NoError(t, err, "the document is complete")
	require.Len(t, images, 1)
}

// chunks records the longest Write of an image, and how many bytes it has received.
type chunks struct{ n, longest int }

func (c *chunks) Write(p []byte) (int, error) {
	c.n += len(p)
	c.longest = max(c.longest, len(p))
	return len(p), nil
}

func (c *chunks) finish(error) {}

// aheadOf fails the test when more is read than the images have received.
type aheadOf struct {
	t    *testing.T
	r    io.Reader
	read int
	all  []*chunks
}

func (a *aheadOf) Read(p []byte) (int, error) {
	received := 0
	for _, c := range a.all {
		received += c.n
	}
	require.Less(a.t, a.read-received*4/3, 4*scanBuffer, "bytes that are held")
	n, err := a.r.Read(p)
	a.read += n
	return n, err
}

// Whatever the size and number of the images, little is held.
func TestScannerHoldsLittle(t *testing.T) {
	t.Parallel()
	const size = 3 << 20
	text := strings.Repeat("A", size/3*4)
	r := &aheadOf{t: t, r: strings.NewReader(
		`{"data":[{"b64_json":"` + text + `"},{"b64_json":"` + text + `"},{"b64_json":"` + text + `"}]}`)}
	s := newScanner(r, func(int) imageWriter {
		r.all = append(r.all, &chunks{})
		return r.all[len(r.all)-1]
	})
	require.NoError(t, s.scan())
	require.Len(t, r.all, 3)
	for _, c := range r.all {
		require.Equal(t, size, c.n)
		require.LessOrEqual(t, c.longest, scanBuffer)
	}
	require.Less(t, cap(s.meta), 1000)
	require.Equal(t, `{"data":[{"b64_json":0},{"b64_json":1},{"b64_json":2}]}`, string(s.meta))
	_, _, err := scanAll(strings.NewReader(`{"usage":"` + strings.Repeat("x", 2<<20) + `"}`))
	require.ErrorIs(t, err, ErrTooLarge)
}
