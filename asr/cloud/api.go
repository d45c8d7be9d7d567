package cloud

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common"
	tcerrors "github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common/errors"
	tchttp "github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common/http"
	"github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common/profile"

	"lessonkit.example/asr"
	"lessonkit.example/asr/provider"
)

// apiRequest returns the base that a typed request embeds.
func apiRequest(action string) *tchttp.BaseRequest {
	r := &tchttp.BaseRequest{}
	return r.Init().WithApiInfo("asr", "2019-06-14", action)
}

// call makes one request of API 3.0 for the recording sent, without retries: those of the SDK
// ignore the context.
func (r *Recognizer) call(
	ctx context.Context, op string, request tchttp.Request, response tchttp.Response, sent asr.Audio,
) error {
	p := profile.NewClientProfile()
	p.HttpProfile.Endpoint = "asr.tencentcloudapi.com"
	p.HttpProfile.ReqTimeout = int(r.base.Timeout()/time.Second) + 1
	p.DisableRegionBreaker = true
	client := common.NewCommonClient(common.NewCredential(r.cfg.SecretID, r.cfg.SecretKey), "", p)
	transport := &apiTransport{op: op, base: r.transport, address: r.cfg.APIURL}
	client.WithHttpTransport(transport)
	request.SetContext(ctx)
	err := client.Send(request, response)
	if ctx.Err() != nil {
		return &asr.Error{Op: op, Err: ctx.Err()} // the SDK hides the error of the context
	}
	resp := transport.resp
	switch e, ok := errors.AsType[*tcerrors.TencentCloudSDKError](err); {
	case err == nil && resp != nil && resp.StatusCode == http.StatusOK:
		return nil
	case transport.err != nil:
		return transport.err
	case resp != nil && resp.StatusCode != http.StatusOK && (!ok || strings.HasPrefix(e.GetCode(), "ClientError.")):
		return statusError(op, resp) // the SDK drops the status
	case ok && resp != nil && strings.HasPrefix(e.GetCode(), "ClientError."):
		// The message of the SDK repeats the whole answer, which may be that the request was done.
		return &asr.Error{Op: op, Class: asr.ErrLost, Code: e.GetCode(), Status: resp.StatusCode,
			Message: "the answer cannot be read"}
	case ok:
		return apiError(op, e.GetCode(), provider.Excerpt(e.GetMessage(), sent))
	}
	return &asr.Error{Op: op, Message: "make request", Err: err}
}

// apiTransport makes one request for the SDK. It limits the answer, does not follow redirects,
// keeps the result, which the SDK does not return, and in tests sends the request to another
// address than the one that was signed.
type apiTransport struct {
	op      string
	base    http.RoundTripper
	address string

	resp *http.Response
	err  error
}

func (t *apiTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.address != "" {
		u, err := url.Parse(t.address)
		if err != nil {
			return nil, err
		}
		req = req.Clone(req.Context())
		if req.Host == "" {
			req.Host = req.URL.Host
		}
		req.URL.Scheme, req.URL.Host = u.Scheme, u.Host
	}
	t.resp, t.err = provider.Do(t.op, t.base, req)
	if t.err != nil {
		return nil, t.err
	}
	if t.resp.StatusCode >= 300 && t.resp.StatusCode < 400 {
		t.resp.Body.Close()
		return nil, errors.New("redirects are not followed")
	}
	t.resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(t.resp.Body, maxAnswer), t.resp.Body}
	return t.resp, nil
}

func incomplete(op, field string) error {
	return &asr.Error{Op: op, Status: http.StatusOK, Message: "the answer has no " + field}
}
