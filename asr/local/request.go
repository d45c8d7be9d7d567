package local

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/netip"
	"net/textproto"
	"net/url"
	"strings"

	"lessonkit.example/asr"
	"lessonkit.example/asr/provider"
)

// field is a text field of the form.
type field struct{ name, value string }

// language returns the language of a recording as it is sent, or "" if it is to be detected.
func (r *Recognizer) language(audio asr.Audio) string {
	return provider.PrimaryLanguage(cmp.Or(audio.Language, r.target.language))
}

// fields returns the text fields to send, in order.
func (r *Recognizer) fields(to asked, audio asr.Audio) []field {
	if to.fileOnly {
		return nil
	}
	fields := []field{{"response_format", "json"}}
	if to.times > noTimes {
		fields = []field{{"response_format", "verbose_json"}}
	}
	if to.times > noTimes && to.openAI {
		fields = append(fields, field{"timestamp_granularities[]", "segment"})
	}
	if to.times == wordTimes && to.openAI { // whisper.cpp returns them anyway
		fields = append(fields, field{"timestamp_granularities[]", "word"})
	}
	if to.model != "" {
		fields = append(fields, field{"model", to.model})
	}
	if language := r.language(audio); language != "" {
		fields = append(fields, field{"language", language})
	}
	if prompt := r.prompt(audio); prompt != "" {
		fields = append(fields, field{"prompt", prompt})
	}
	return append(fields, r.target.extra...)
}

// prompt returns the prompt for a recording. That of the URL replaces its own, but not its words.
func (r *Recognizer) prompt(audio asr.Audio) string {
	audio.Language = cmp.Or(audio.Language, r.target.language)
	audio.Prompt = cmp.Or(r.target.prompt, audio.Prompt)
	return provider.Prompt(audio)
}

// hide replaces the secrets of the target in the body of an error, as some servers repeat a wrong
// key. One that is short may be a word, such as "no-key".
func (r *Recognizer) hide(body []byte) []byte {
	password, _ := r.target.user.Password()
	for _, secret := range []string{r.target.key, cmp.Or(password, r.target.user.Username())} {
		if len(secret) >= 8 {
			body = bytes.ReplaceAll(body, []byte(secret), []byte("…"))
		}
	}
	return body
}

// newRequest returns a POST of a multipart form with a Content-Length. Only the parts of the form
// around the recording are held in memory.
func newRequest(ctx context.Context, ep endpoint, fields []field, src *provider.Source) (*http.Request, error) {
	var buf bytes.Buffer // writing to it cannot fail
	w := multipart.NewWriter(&buf)
	for _, f := range fields {
		_ = w.WriteField(f.name, f.value)
	}
	// Some servers determine the format by the extension.
	h := textproto.MIMEHeader{}
	h.Set("Content-Disposition", fmt.Sprintf(`form-data; name=%q; filename="audio.%s"`, ep.fileField, src.Info.Format))
	h.Set("Content-Type", src.Info.Format.ContentType())
	_, _ = w.CreatePart(h)
	n := buf.Len()
	_ = w.Close()
	body := struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(buf.Bytes()[:n]), src, bytes.NewReader(buf.Bytes()[n:])), src}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, ep.url, body)
	if err != nil {
		return nil, err
	}
	req.ContentLength = int64(buf.Len()) + src.Size
	req.Header.Set("Content-Type", w.FormDataContentType())
	req.Header.Set("Accept", "application/json")
	return req, nil
}

// proxy is http.ProxyFromEnvironment, except that addresses of this machine and of the local
// network are reached directly.
func proxy(req *http.Request) (*url.URL, error) {
	if isLocal(req.URL.Hostname()) {
		return nil, nil
	}
	return http.ProxyFromEnvironment(req)
}

// isLocal reports whether a host is on this machine or on the local network, judging by its address
// or its name alone.
func isLocal(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if !strings.Contains(host, ".") { // "localhost", or "whisper", the name of a container
		return true
	}
	for _, suffix := range []string{".localhost", ".local", ".internal", ".lan", ".home.arpa"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}
