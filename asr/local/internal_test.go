package local

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
)

func TestLocalAddressesNeedNoProxy(t *testing.T) {
	t.Parallel()
	for host, local := range map[string]bool{
		"localhost": true, "whisper": true, "nas.local": true, "gpu.lan": true, "asr.internal": true,
		"x.home.arpa.": true, "127.0.0.1": true, "127.8.9.1": true, "10.1.2.3": true, "192.168.1.5": true,
		"172.16.0.9": true, "169.254.1.1": true, "::1": true, "fe80::1": true, "fd00::1": true,
		"::ffff:192.168.1.5": true,

		"8.8.8.8": false, "172.32.0.1": false, "2001:db8::1": false, "example.com": false, "local.example.com": false,
	} {
		require.Equal(t, local, isLocal(host), host)
		if local && !strings.Contains(host, ":") {
			u, err := proxy(&http.Request{URL: &url.URL{Scheme: "http", Host: host + ":8080"}})
			require.NoError(t, err)
			require.Nil(t, u)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		`{"text":" a\n b\n"}`, `"text"`, `{"error":"x"}`, `{"error":{"message":"x"}}`,
		`{"detail":[{"loc":["body",1],"msg":"m"}]}`, `{"code":1,"msg":"m"}`,
		`{"text":"a","duration":"1.5","segments":[{"start":"0","end":1e400,"text":"a","speaker":null}]}`,
		`{"text":"好","sentences":[{"text":"好","start":0,"end":500}],"code":0}`,
		`<!DOCTYPE html>`, "", "null", "[]", `{"text":"\ud800"}`, `{"text":"a","segments":[{"start":-1,"end":"NaN"}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		tr, err := parseAnswer(body, asr.Audio{Words: []string{"Emma"}})
		if err != nil {
			if len(err.Error()) > 400 || !utf8.ValidString(err.Error()) {
				t.Fatalf("error of %d bytes", len(err.Error()))
			}
			return
		}
		if !utf8.ValidString(tr.Text) || strings.TrimSpace(tr.Text) != tr.Text {
			t.Fatalf("text %q", tr.Text)
		}
		for _, s := range tr.Segments {
			if s.Start < 0 || s.End < 0 {
				t.Fatalf("%+v", s)
			}
		}
		namesModel(body, "m")
		namesFormat(body)
	})
}
