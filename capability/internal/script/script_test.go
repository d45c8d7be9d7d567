package script

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Hostile sources end in bounded time and memory: they are refused before they are parsed, by the
// parsers, or after the time for a file.
func TestHostileSources(t *testing.T) {
	t.Parallel()
	const n = 400_000
	for name, source := range map[string]string{
		"large":       strings.Repeat("a();", 25<<20),
		"minified":    strings.Repeat("a(b,c=>d.e[f]);", 60_000),
		"brackets":    strings.Repeat("(", n),
		"arrays":      strings.Repeat("[", n) + strings.Repeat("]", n),
		"operators":   strings.Repeat("!", n) + "a",
		"keywords":    strings.Repeat("typeof\n", n/8) + "a",
		"blanks":      strings.Repeat("new\u00a0", n/5) + "a",
		"functions":   strings.Repeat("function a(){", 30_000),
		"elements":    strings.Repeat("<a>", n/3),
		"types":       "let a:" + strings.Repeat("b<", n),
		"conditions":  strings.Repeat("a?b:", n/4) + "c",
		"members":     "a" + strings.Repeat(".b", n/2),
		"templates":   strings.Repeat("`${", n/3),
		"labels":      strings.Repeat("x:", n/2),
		"not UTF-8":   "a(\xff\xfe)\x00",
		"not a token": "\\u{",
	} {
		_, err := Parse("a.tsx", []byte(source))
		require.Error(t, err, name)
	}
	for source, want := range map[string]string{
		strings.Repeat("(", 10_000) + "a" + strings.Repeat(")", 10_000): "", // the compiler leaves them out
		"a" + strings.Repeat("(b)", 12_000):                             "too many nested expressions",
		strings.Repeat("if(a)b;else ", 8_000) + "c":                     "too many nested statements",
		"a='" + strings.Repeat("x", 900_000) + "'":                      "",
		"a=1;" + strings.Repeat("b", 1_000_000):                         ""} {
		for _, file := range []string{"a.ts", "a.js", "a.vue", "a.html"} {
			text := source
			if strings.HasSuffix(file, "e") || strings.HasSuffix(file, "l") {
				text = "<script>" + source + "</script>"
			}
			_, err := Parse(file, []byte(text))
			if want == "" {
				require.NoError(t, err, file)
			} else {
				require.ErrorContains(t, err, want, file)
			}
		}
	}
}

// Whatever is read, nothing panics and places are in the file.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"import {invoke as i} from '@tauri-apps/api/core'; i('a', {b})",
		"<script setup lang=\"ts\">const {a} = await import('b'); a.c<d>('é😀')</script><p :x='y'/>",
		"export default class A extends B { #c = 1; static { d?.e`f${g}` } get h() { return this.i() } }",
		"export * as a from 'b'; export {c as default} from './d'; for (const e of f) (0, e.g)(h ? 'i' : `j`)",
		"import {a as b} from 'c';\nexport const d = async <T,>(e: F) => { await b<T>(`g${h}`, {i: [1, ...",
		"{h}`, {i: [1, ...j]}) };\nconst k = await import('l'"} {
		f.Add(seed, uint8(0))
		f.Add(seed, uint8(8))
	}
	names := slices.Sorted(maps.Keys(Extensions))
	f.Fuzz(func(t *testing.T, source string, kind uint8) {
		if len(source) > 2000 || bytes.Count([]byte(source), []byte("?")) > 4 { // these may take exponential time
			t.Skip()
		}
		m, err := Parse("a"+names[int(kind)%len(names)], []byte(source))
		if err != nil {
			return
		}
		g := &Graph{Modules: map[string]*Module{m.file: m}}
		for _, c := range m.Calls {
			g.Resolve(m, c.Function)
			g.Texts(m, c.Argument)
			require.LessOrEqual(t, m.Offset(c.Name), len(source))
			argument, _ := c.Argument.(Text)
			require.LessOrEqual(t, m.Offset(argument), len(source))
		}
	})
}
