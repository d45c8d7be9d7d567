package cloud

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common"
	tcerrors "github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common/errors"
	tchttp "github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common/http"
	"github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common/profile"

	"lessonkit.example/asr"
	"lessonkit.example/asr/internal/source"
)

const (
	apiService = "asr"
	apiVersion = "2019-06-14"
	apiHost    = "asr.tencentcloudapi.com"
)

// apiRequest is what a typed request embeds.
func apiRequest(action string) *tchttp.BaseRequest {
	r := &tchttp.BaseRequest{}
	return r.Init().WithApiInfo(apiService, apiVersion, action)
}

// call makes one request of API 3.0. It never tries again by itself: the SDK would wait without looking at the context, and the queue does it better.
func (r *Recognizer) call(ctx context.Context, op string, request tchttp.Request, response tchttp.Response) error {
	seen := &exchange{}
	ctx = context.WithValue(ctx, exchangeKey{}, seen)
	request.SetContext(ctx)
	err := r.api().Send(request, response)
	if ctx.Err() != nil {
		return &asr.Error{Op: op, Err: ctx.Err()} // the SDK hides the context's error
	}
	resp, transport := seen.get()
	switch e, ok := errors.AsType[*tcerrors.TencentCloudSDKError](err); {
	case err == nil && resp != nil && resp.StatusCode == http.StatusOK:
		return nil
	case transport != nil:
		return &asr.Error{Op: op, Class: asr.ErrUnavailable, Message: "no answer from the cloud", Err: transport}
	case resp != nil && resp.StatusCode != http.StatusOK && (!ok || strings.HasPrefix(e.GetCode(), "ClientError.")):
		return statusError(op, resp, r.now()) // the SDK loses the status
	case ok && strings.HasPrefix(e.GetCode(), "ClientError."):
		// Its message repeats the whole answer.
		return &asr.Error{Op: op, Class: asr.ErrUnavailable, Code: e.GetCode(), Message: "the answer cannot be read"}
	case ok:
		return apiError(op, e.GetCode(), e.GetMessage())
	}
	return &asr.Error{Op: op, Message: "the request cannot be made", Err: err}
}

// api makes a client of the SDK, which holds nothing that is worth keeping.
func (r *Recognizer) api() *common.Client {
	p := profile.NewClientProfile()
	p.HttpProfile.Endpoint = apiHost
	p.HttpProfile.ReqTimeout = int(r.cfg.requestTimeout()/time.Second) + 1
	p.DisableRegionBreaker = true
	client := common.NewCommonClient(common.NewCredential(r.cfg.SecretID, r.cfg.SecretKey), "", p)
	client.WithHttpTransport(&apiTransport{base: r.client.Transport, address: r.cfg.APIURL})
	return client
}

// exchange is what came back, which the SDK does not tell.
type exchange struct {
	mu   sync.Mutex
	resp *http.Response
	err  error
}

type exchangeKey struct{}

func (e *exchange) set(resp *http.Response, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.resp, e.err = resp, err
}

func (e *exchange) get() (*http.Response, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.resp, e.err
}

// apiTransport bounds answers, refuses redirects, and sends requests to another address where a test wants that, under the name that was signed.
type apiTransport struct {
	base    http.RoundTripper
	address string
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
	resp, err := t.base.RoundTrip(req)
	if seen, ok := req.Context().Value(exchangeKey{}).(*exchange); ok {
		seen.set(resp, err)
	}
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		resp.Body.Close()
		return nil, errors.New("redirects are not followed")
	}
	resp.Body = bounded{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	return resp, nil
}

type bounded struct {
	io.Reader
	io.Closer
}

// data reads a small recording for a request that carries it in base64.
func data(op string, src *source.Source) (string, int, error) {
	var failure source.Failure
	raw, err := io.ReadAll(source.NewBody(src.Prefix, src, nil, &failure))
	if err != nil {
		return "", 0, &asr.Error{Op: op, Message: "read audio", Err: err}
	}
	return base64.StdEncoding.EncodeToString(raw), len(raw), nil
}

func unreadable(op, what string) error {
	return &asr.Error{Op: op, Message: fmt.Sprintf("the answer has no %s", what)}
}
