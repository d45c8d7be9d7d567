package imagegen

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
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

// reference reads a document the slow way: encoding/json for the JSON, the whole string for base64.
func reference(doc []byte) (images map[int][]byte, ok bool) {
	if !json.Valid(doc) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	w := &walker{d: d, images: map[int][]byte{}}
	if t, _ := d.Token(); t != json.Delim('{') {
		return nil, false
	}
	w.object(1, -1, true)
	return w.images, !w.refused
}

type walker struct {
	d       *json.Decoder
	images  map[int][]byte // nil: an image whose data is bad
	refused bool
}

func (w *walker) value(t json.Token, depth, index int, data bool) {
	if delim, ok := t.(json.Delim); ok {
		switch {
		case depth > maxDepth:
			w.refused = true
			fallthrough
		case delim == '{':
			if delim == '{' {
				w.object(depth, index, data)
				return
			}
			fallthrough
		default:
			for i := 0; w.d.More(); i++ {
				t, _ := w.d.Token()
				w.value(t, depth+1, i, data)
			}
			_, _ = w.d.Token()
		}
	} else if depth > maxDepth {
		w.refused = true
	}
}

func (w *walker) object(depth, index int, data bool) {
	seen := map[string]bool{}
	for w.d.More() {
		t, _ := w.d.Token()
		name := t.(string)
		below := data
		if depth == 1 {
			below = name == "data"
			w.refused = w.refused || isRelevant(name) && seen[name]
			seen[name] = true
		}
		t, _ = w.d.Token()
		if depth > 1 && data && name == "b64_json" {
			switch v := t.(type) {
			case string:
				if v == "" {
					continue
				}
				at := max(index, 0)
				_, twice := w.images[at]
				w.refused = w.refused || twice
				w.images[at] = referenceBase64(v)
				continue
			case nil:
				continue
			}
			w.refused = true
		}
		w.value(t, depth+1, index, below)
	}
	_, _ = w.d.Token()
}

var inURL = regexp.MustCompile(`^[!-~]*$`)

func referenceBase64(s string) []byte {
	s = strings.NewReplacer("\n", "", "\r", "", "-", "+", "_", "/").Replace(s)
	if strings.HasPrefix(s, "data:") {
		head, rest, ok := strings.Cut(s, ",")
		if !ok || !strings.HasSuffix(head, ";base64") || len(head) > maxPrefix || !inURL.MatchString(head) {
			return nil
		}
		s = rest
	}
	body := strings.TrimRight(s, "=")
	if pad := len(s) - len(body); pad > 0 && (len(body)%4 < 2 || len(body)%4+pad != 4) {
		return nil
	}
	out, err := base64.RawStdEncoding.DecodeString(body)
	if err != nil {
		return nil
	}
	return append([]byte{}, out...)
}

// agree checks that scanner and reference return the same bytes, or both refuse.
func agree(t *testing.T, doc []byte, r io.Reader) {
	t.Helper()
	want, ok := reference(doc)
	got, meta, err := scanAll(r)
	if !ok {
		refused := err != nil
		for _, p := range got { // a control character in image data spoils the image only
			refused = refused || p.err != nil
		}
		require.True(t, refused, "document: %q", doc)
		return
	}
	require.NoError(t, err, "document: %q", doc)
	require.True(t, json.Valid(meta), "kept: %q of %q", meta, doc)
	require.Len(t, got, len(want), "document: %q", doc)
	for i, data := range want {
		require.True(t, got[i].finished)
		if data == nil {
			require.Error(t, got[i].err, "document: %q", doc)
			continue
		}
		require.NoError(t, got[i].err, "document: %q", doc)
		require.Equal(t, data, append([]byte{}, got[i].Bytes()...), "document: %q", doc)
	}
}

func seeds() []string {
	return []string{
		`{"created":1,"data":[{"b64_json":"aGVsbG8gd29ybGQ=","revised_prompt":"a \"fox\""},{"b64_json":"Zm94"}],` +
			`"usage":{"input_tokens":3}}`,
		`{"data":[{"b64_json":"data:image/png;base64,aGVsbG8gd29ybGQ="}]}`,
		"{\"data\":[{\"b64_json\":\"data:\x16\"}]}", "{\"data\":[{\"b64_json\":\"data:\x16;base64,AAAA\"}]}",
		"{\"data\":[{\"b64_json\":\"data:\x7f;base64,AAAA\"}]}", `{"data":[{"b64_json":"data:\u007f;base64,AAAA"}]}`,
		`{"data":[{"b64_json":"data:é;base64,AAAA"}]}`, `{"data":[{"b64_json":"data:\u00e9;base64,AAAA"}]}`,
		`{"data":{"b64_json":"aGVsbG8\/d29ybGQ"}}`,
		`{"data":[{"b64_json":"aGVs\u002bG8\nd29y\r\nbGQ"}]}`,
		`{"data":[{"b64_json":"_-__-w"},{"b64_json":null},{"b64_json":""}]}`,
		`{"data":[{"b64_json":"-_+/AAAA"}],"x":[[[{"b64_json":"no"}]]],"data2":{"b64_json":1}}`,
		`{"data":{"id":"t1","result":{"images":[{"url":["u"]},{"b64_json":"AAAA"}]}}}`,
		`{"data":[{"b64_json":"QQ=="},{"b64_json":"QQ="},{"b64_json":"QQ==QQ"},{"b64_json":"QQ=Q"}]}`,
		`{"data":[{"b64_json":"Q"},{"b64_json":"é"}]}`,
		`{"data":[{"b64_json":"AAAA","b64_json":"BBBB"}]}`,
		`{"data":[],"data":[]}`, `{"data":[{"b64_json":5}]}`, `{"d\u0061ta":[{"b64\u005fjson":"AAAA"}]}`,
		`{"n":[0,-0,1.5e+9,0.0,1E5]}`, `{"n":01}`, `{"n":1.}`, `{"n":-}`, `{"n":1e}`, `{"a":tru}`, `{"a" 1}`, `{,}`,
		`{"a":1,}`, `[1]`, `{}x`,
		`{"\ud800":"\udc00"}`, "{\"a\":\"\t\"}", "{\"data\":[{\"b64_json\":\"AA\nAA\"}]}",
		`{"data":[{"b64_json":"AAA\qA"}]}`,
		strings.Repeat(`{"data":`, 70) + "1" + strings.Repeat("}", 70),
	}
}

func TestScannerAgreesWithEncodingJSON(t *testing.T) {
	t.Parallel()
	for i, doc := range seeds() {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			agree(t, []byte(doc), strings.NewReader(doc))
			agree(t, []byte(doc), iotest.OneByteReader(strings.NewReader(doc)))
			agree(t, []byte(doc), iotest.DataErrReader(strings.NewReader(doc)))
		})
	}
}

// FuzzScanner scans any document, whole and in pieces.
func FuzzScanner(f *testing.F) {
	for _, doc := range seeds() {
		f.Add([]byte(doc), uint8(3))
	}
	f.Fuzz(func(t *testing.T, doc []byte, piece uint8) {
		agree(t, doc, bytes.NewReader(doc))
		agree(t, doc, &pieces{r: bytes.NewReader(doc), n: int(piece)%7 + 1})
	})
}

type pieces struct {
	r io.Reader
	n int
}

func (p *pieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(len(b), p.n)]) }

// FuzzBase64 splits one text at two places and compares with decoding it whole.
func FuzzBase64(f *testing.F) {
	f.Add("data:image/png;base64,aGVsbG8gd29ybGQ=", uint16(3), uint16(11))
	f.Add("_-_-AAAA+/+/QQ==", uint16(1), uint16(2))
	f.Add("data:\x7f;base64,", uint16(0), uint16(106))
	f.Add("data:\u00e9 ;base64,AAAA", uint16(6), uint16(2))
	f.Fuzz(func(t *testing.T, s string, a, b uint16) {
		if strings.ContainsAny(s, "\r\n") {
			t.Skip("the scanner removes line breaks")
		}
		i := min(int(a), len(s))
		j := min(i+int(b), len(s))
		var d base64Decoder
		var out bytes.Buffer
		d.reset(&out)
		var err error
		for _, part := range []string{s[:i], s[i:j], s[j:]} {
			if err == nil {
				err = d.write([]byte(part))
			}
		}
		if err == nil {
			err = d.close()
		}
		want := referenceBase64(s)
		if want == nil {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		require.Equal(t, want, append([]byte{}, out.Bytes()...))
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
		"mime lines":  strings.Join(lines(text, 76), `\r\n`),
		"data url":    "data:image/png;base64," + text,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := `{"data":[{"b64_json":"` + encoded + `"}]}`
			images, _, err := scanAll(&pieces{strings.NewReader(doc), 64 << 10})
			require.NoError(t, err)
			require.NoError(t, images[0].err)
			require.True(t, bytes.Equal(data, images[0].Bytes()))
		})
	}
}

func lines(s string, n int) (all []string) {
	for ; len(s) > n; s = s[n:] {
		all = append(all, s[:n])
	}
	return append(all, s)
}

// The decoder works on blocks of scanBuffer characters: what ends one block affects the next.
func TestPaddingAtTheEndOfABlockEndsTheImage(t *testing.T) {
	t.Parallel()
	block := strings.Repeat("A", scanBuffer-2) + "=="
	for text, valid := range map[string]bool{block: true, block + "AAAA": false, block + "==": false,
		"AAAA" + block: true, block[:scanBuffer-1]: false, strings.Repeat("A", scanBuffer) + "-_": true} {
		images, _, err := scanAll(strings.NewReader(`{"data":[{"b64_json":"` + text + `"}]}`))
		require.NoError(t, err)
		if valid {
			require.NoError(t, images[0].err)
			require.Equal(t, referenceBase64(text), images[0].Bytes())
		} else {
			require.ErrorIs(t, images[0].err, errBase64)
		}
	}
}

func TestScannerRefusesEveryTruncation(t *testing.T) {
	t.Parallel()
	doc := seeds()[0]
	for i := range len(doc) {
		images, _, err := scanAll(strings.NewReader(doc[:i]))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "at byte %d", i)
		for _, p := range images {
			require.True(t, p.finished)
		}
	}
}

func TestScannerLimits(t *testing.T) {
	t.Parallel()
	_, _, err := scanAll(strings.NewReader(`{"usage":"` + strings.Repeat("x", 2<<20) + `"}`))
	require.ErrorIs(t, err, ErrTooLarge)
	_, _, err = scanAll(strings.NewReader(`{"data":` + strings.Repeat("[", 100)))
	require.ErrorIs(t, err, errSyntax)

	_, meta, err := scanAll(strings.NewReader(`{"junk":"` + strings.Repeat("x", 8<<20) + `","created":7}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"created":7}`, string(meta))

	broken := errors.New("cable cut")
	_, _, err = scanAll(io.MultiReader(strings.NewReader(`{"data":[{"b64_json":"AAAA`), iotest.ErrReader(broken)))
	require.ErrorIs(t, err, broken)
}
