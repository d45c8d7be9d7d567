package local

import (
	"strings"
	"testing"
	"unicode/utf8"

	"lessonkit.example/asr"
)

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
