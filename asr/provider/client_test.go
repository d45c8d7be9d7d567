package provider_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/provider"
)

// failing is a transport that fails.
type failing struct{ error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.error }

func TestErrorsOfDoDoNotContainTheAddress(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{
		Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 8080},
		Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
	}
	const host = "gpu.internal"
	lookup := &net.DNSError{Err: "read udp 10.1.2.4:1->10.1.2.3:53: timeout", Name: host, Server: "10.1.2.3:53"}
	certificate := &x509.Certificate{DNSNames: []string{"a.internal"}}
	wrongName := x509.HostnameError{Certificate: certificate, Host: host}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"refused":          {refused, "dial: connect: connection refused"},
		"through a proxy":  {&net.OpError{Op: "proxyconnect", Net: "tcp", Err: refused}, "connection refused"},
		"wrapped":          {fmt.Errorf("broken: %w", refused), "broken: dial: connect: connection refused"},
		"lookup":           {&net.OpError{Op: "dial", Net: "tcp", Err: lookup}, "dial: the host name could not be"},
		"unknown name":     {&net.DNSError{Err: "no such host", Name: host, IsNotFound: true}, "no such host"},
		"certificate":      {fmt.Errorf("tls: %w", wrongName), "tls: the certificate is for other host names"},
		"no TLS":           {tls.RecordHeaderError{Msg: "no record"}, "perhaps it expects http://"},
		"name in the text": {errors.New("gpu.internal is not available"), "the server is not available"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://gpu.internal:8080/v1", nil)
		require.NoError(t, err)
		_, err = provider.Do("test", failing{test.err}, req)
		require.ErrorIs(t, err, asr.ErrUnavailable, name)
		require.ErrorIs(t, err, test.err, name)
		require.ErrorContains(t, err, test.want, name)
		require.NotContains(t, err.Error(), "10.1.2", name)
		require.NotContains(t, err.Error(), "internal", name)
	}
}
