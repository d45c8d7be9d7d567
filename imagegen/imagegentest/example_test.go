package imagegentest_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/imagegentest"
)

// In a synctest bubble a task of two minutes takes no time. The fake checks every rule of the
// interface.
func Example() {
	_ = func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			fake := imagegentest.New(t, imagegentest.Options{Mode: imagegentest.Async, Duration: 2 * time.Minute})
			fake.Script(imagegentest.Polls(500, 404, 0)) // three polls fail
			_, err := fake.Client(nil).Generate(t.Context(), &imagegen.Request{Prompt: "a red fox"}, imagegen.Memory())
			require.NoError(t, err)
			require.Equal(t, 1, fake.Counts().Generations)
		})
	}
}

// reports collects the violations a fake reports.
type reports struct {
	testing.TB
	all []string
}

func (r *reports) Errorf(format string, _ ...any) { r.all = append(r.all, format) }

func TestFakeReportsViolations(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		method, path, kind, body string
		broken                   bool
	}{
		"right": {"POST", "/v1/images/generations", "application/json",
			`{"model":"m","prompt":"x","size":"16:9"}`, false},
		"no JSON type": {"POST", "/v1/images/generations", "text/plain", `{"model":"m","prompt":"x"}`, true},
		"no model":     {"POST", "/v1/images/generations", "application/json", `{"prompt":"x"}`, true},
		"unknown size": {"POST", "/v1/images/generations", "application/json",
			`{"model":"m","prompt":"x","size":"7:5"}`, true},
		"JSON on edits": {"POST", "/v1/images/edits", "application/json", `{"model":"m","prompt":"x"}`, true},
		"edit without file": {"POST", "/v1/images/edits", "multipart/form-data; boundary=b",
			"--b\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\nx\r\n--b--\r\n", true},
		"other path": {"POST", "/v1/images", "application/json", `{}`, true},
	} {
		r := &reports{TB: t}
		fake := imagegentest.New(r, imagegentest.Options{})
		req, err := http.NewRequestWithContext(t.Context(), test.method, fake.URL()+test.path,
			strings.NewReader(test.body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", test.kind)
		req.Header.Set("Authorization", "Bearer "+imagegentest.APIKey)
		resp, err := fake.Config().HTTPClient.Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, test.broken, len(r.all) > 0, name)
		require.Equal(t, test.broken, resp.StatusCode != 200, name)
	}
}

func TestFakeReportsPollsThatAreTooFrequent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &reports{TB: t}
		fake := imagegentest.New(r, imagegentest.Options{Mode: imagegentest.Async})
		_, err := fake.Client(func(c *imagegen.Config) { c.FirstPoll = time.Second }).Generate(t.Context(),
			&imagegen.Request{Prompt: "x"}, imagegen.Memory())
		require.NoError(t, err)
		require.NotEmpty(t, r.all)
	})
}
