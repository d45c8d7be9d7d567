package imagegen_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/imagegentest"
)

// One row for each form of a response.
func TestClassification(t *testing.T) {
	t.Parallel()
	image := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\nrest"))
	for name, test := range map[string]struct {
		body  string
		check func(t *testing.T, r *imagegen.Result, err error)
	}{
		"data in an array":          {`{"created":5,"data":[{"b64_json":"IMAGE"}]}`, hasImages(1)},
		"data in one object":        {`{"data":{"b64_json":"IMAGE"}}`, hasImages(1)},
		"data below another member": {`{"data":{"images":[{"b64_json":"IMAGE"}]}}`, hasImages(1)},
		"data beside an id wins": {`{"data":{"id":"t1","status":"pending","b64_json":"IMAGE"}}`,
			hasImages(1)},
		"data beside an error wins": {`{"error":{"message":"odd"},"data":[{"b64_json":"IMAGE"}]}`, hasImages(1)},
		"data in a finished result": {`{"data":{"id":"t1","status":"completed",` +
			`"result":{"images":[{"b64_json":"IMAGE"}]}}}`, hasImages(1)},
		"null data and an id is a task":  {`{"data":{"b64_json":null,"id":"t1"}}`, isTask("t1")},
		"empty data and an id is a task": {`{"data":{"b64_json":"","id":"t1"}}`, isTask("t1")},
		"data.id":                        {`{"data":{"id":"t1"}}`, isTask("t1")},
		"data[0].id":                     {`{"data":[{"id":"t1"}]}`, isTask("t1")},
		"top-level error":                {`{"error":{"message":"no","code":"c"}}`, isError("no")},
		"top-level error as text":        {`{"error":"no"}`, isError("no")},
		"error beside empty data":        {`{"error":{"message":"no"},"data":[]}`, isError("no")},
		"null error is none":             {`{"error":null,"data":{"id":"t1"}}`, isTask("t1")},
		"empty error beside a task":      {`{"error":{},"data":{"id":"t1"}}`, isTask("t1")},
		"empty text beside a task": {`{"error":"","data":{"id":"t1","status":"pending","error":""}}`,
			isTask("t1")},
		"empty data.error beside a task": {`{"data":{"id":"t1","error":{"code":"","message":""}}}`, isTask("t1")},
		"empty error and a failed task": {`{"error":"","data":{"id":"t1","error":{"message":"no"}}}`,
			isFailed("t1", "no")},
		"an empty error alone": {`{"error":{}}`, isError("without a message")},
		"an error with text and a task": {`{"error":{"message":"no"},"data":{"id":"t1"}}`,
			isError("generate task t1: status 200: no")},
		"data.error without an id": {`{"data":{"error":{"message":"no"}}}`, isError("no")},
		"every item failed": {`{"data":[{"error":{"message":"no"}},{"error":{"message":"no"}}]}`,
			isError("no")},
		"failed task at once": {`{"data":{"id":"t1","status":"failed","error":{"message":"no"}}}`,
			isFailed("t1", "no")},
		"data.error with an id": {`{"data":{"id":"t1","error":{"message":"no"}}}`, isFailed("t1", "no")},
		"empty data":            {`{"data":[]}`, isNothing},
		"null data":             {`{"data":null}`, isNothing},
		"no data":               {`{}`, isNothing},
		"nothing but a message": {`{"code":1001,"msg":"no balance","data":null}`, isError("no balance: the service")},
		"a number for data":     {`{"data":[{"b64_json":5}]}`, isNothing},
		"items without content": {`{"data":[{},{}]}`, isNothing},
		"failed task, error at the top": {`{"data":{"id":"t1","status":"failed"},"error":{"message":"no"}}`,
			isFailed("t1", "no")},
		"a finished task beside an error": {`{"error":"odd","data":{"id":"t1","status":"completed",` +
			`"result":{"images":[{"b64_json":"IMAGE"}]}}}`,
			hasImages(1)},
		"every image of a task failed": {`{"data":{"id":"t1","status":"completed",` +
			`"result":{"images":[{"error":"no"}]}}}`, isNothing},
		"completed without images": {`{"data":{"id":"t1","status":"completed","result":{"images":[]}}}`,
			isNothing},
		"a state without an id": {`{"data":{"status":"pending"}}`, isError("identifier")},
		"a page":                {`<html><body>sleeping</body></html>`, isError("sleeping")},
		"an array":              {`[1,2]`, isError("expected an object")},
		"bad JSON": {"\ufeff" + `{"data":[{"b64_json":"c2VjcmV0"},]}`,
			func(t *testing.T, _ *imagegen.Result, err error) { require.NotContains(t, err.Error(), "c2VjcmV0") }},
		"bad base64": {`{"data":[{"b64_json":"%%%%"}]}`, isError("base64")},
		"text instead of an image": {`{"data":[{"b64_json":"PGh0bWw+ZXhwaXJlZDwvaHRtbD4="}]}`,
			isError("not an image")},
		"odd neighbors do no harm": {`{"data":[{"b64_json":"IMAGE","url":7,"result":"x",` +
			`"revised_prompt":[1]}],"created":"soon","usage":[1]}`, hasImages(1)},
		"one failed among good ones": {`{"data":[{"b64_json":"IMAGE"},{"error":{"message":"filtered"}}]}`,
			isPartial("filtered")},
		"one bad among good ones":   {`{"data":[{"b64_json":"IMAGE"},{"b64_json":"%"}]}`, isPartial("base64")},
		"one empty among good ones": {`{"data":[{"b64_json":"IMAGE"},{}]}`, isPartial("no images")},
		"an address that leads nowhere": {`{"data":[{"b64_json":"IMAGE"},{"url":"ftp://x/y"}]}`,
			isPartial("http or https")},
		"truncated in the second image": {`{"data":[{"b64_json":"IMAGE"},{"b64_json":"AAAA`, isError("broke off")},
	} {
		synctestRun(t, name, func(t *testing.T) {
			fake := imagegentest.New(t, imagegentest.Options{})
			fake.Script(imagegentest.Raw(strings.ReplaceAll(test.body, "IMAGE", image)))
			images := imagegen.Memory()
			r, err := fake.Client(nil).Submit(t.Context(), fox(), images)
			test.check(t, r, err)
			stored := 0
			for images.Get(stored) != nil {
				stored++
			}
			if r == nil {
				require.Zero(t, stored)
			} else {
				require.Len(t, r.Images, stored)
			}
			require.Empty(t, fake.Counts().Polls)
		})
	}
}

type check = func(t *testing.T, r *imagegen.Result, err error)

func hasImages(n int) check {
	return func(t *testing.T, r *imagegen.Result, err error) {
		require.NoError(t, err)
		require.Len(t, r.Images, n)
	}
}

func isTask(id string) check {
	return func(t *testing.T, r *imagegen.Result, err error) {
		require.NoError(t, err)
		require.Equal(t, id, r.TaskID)
		require.Empty(t, r.Images)
	}
}

func isError(text string) check {
	return func(t *testing.T, r *imagegen.Result, err error) {
		e := errorOf[*imagegen.Error](t, err)
		require.ErrorContains(t, err, text)
		require.True(t, e.MayHaveRun)
		require.Nil(t, r)
	}
}

func isFailed(id, message string) check {
	return func(t *testing.T, r *imagegen.Result, err error) {
		e := errorOf[*imagegen.TaskError](t, err)
		require.Equal(t, imagegen.TaskError{ID: id, Message: message}, *e)
	}
}

func isNothing(t *testing.T, r *imagegen.Result, err error) {
	require.ErrorIs(t, err, imagegen.ErrNoImages)
}

func isPartial(text string) check {
	return func(t *testing.T, r *imagegen.Result, err error) {
		p := errorOf[*imagegen.PartialError](t, err)
		require.ErrorContains(t, p.Failed[1], text)
		require.Len(t, r.Images, 1)
	}
}
