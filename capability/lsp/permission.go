package lsp

import (
	"fmt"
	"regexp"
	"strings"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/words"
)

// permissionPath describes the place of a permission's identifier, in a capability file or in a
// configuration.
var permissionPath = regexp.MustCompile(`/permissions/\d+(/identifier)?$`)

// permissionAt returns the identifier of a permission at an offset of a text, with the bytes of its
// content.
func permissionAt(name, src string, offset int) (identifier string, start, end int, ok bool) {
	d := capability.ParseValue([]byte(src), capability.Options{Name: name})
	v := d.ValueAt(offset)
	start, end = v.Position().Offset, v.End().Offset
	if v.Kind() != capability.String || !permissionPath.MatchString(v.Path()) || offset <= start || offset >= end {
		return "", 0, 0, false
	}
	return v.Text(), start + 1, end - 1, true
}

// hover tells what the permission at a position grants, nil if there is none.
func (f *file) hover(name string, p position) *hover {
	identifier, start, end, ok := permissionAt(name, f.src, f.offset(p))
	if !ok || f.manifests == nil {
		return nil
	}
	expansions, complete := f.manifests.Expand(identifier)
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**", identifier)
	if text := f.manifests.Description(identifier); text != "" {
		fmt.Fprintf(&b, "\n\n%s", text)
	}
	var allow, deny, scopes []string
	for _, x := range expansions {
		for _, c := range x.Allow {
			allow = append(allow, "`"+c.String()+"`")
		}
		for _, c := range x.Deny {
			deny = append(deny, "`"+c.String()+"`")
		}
		for _, v := range x.Permission.ScopeAllow {
			scopes = append(scopes, "`"+v.String()+"`")
		}
	}
	for _, list := range []struct {
		title string
		names []string
	}{{"Allows", allow}, {"Denies", deny}, {"With the scope", scopes}} {
		if len(list.names) > 0 {
			fmt.Fprintf(&b, "\n\n%s %s", list.title, words.Some(list.names, 40))
		}
	}
	if len(expansions) == 0 && complete {
		b.WriteString("\n\nGrants nothing.")
	} else if len(expansions) == 0 {
		b.WriteString("\n\nIs not known.")
	}
	return &hover{markup{"markdown", b.String()}, f.span(start, end)}
}

// complete returns the identifiers that may be meant at a position. Where the text is not complete
// yet, it is taken as if the string ended there.
func (f *file) complete(name string, p position) completionList {
	list := completionList{Items: []completionItem{}}
	offset := f.offset(p)
	_, start, end, ok := permissionAt(name, f.src, offset)
	if !ok {
		if _, start, _, ok = permissionAt(name, f.src[:offset]+"\"]}", offset); !ok {
			return list
		}
		end = offset
	}
	if f.manifests == nil {
		return list
	}
	for _, identifier := range f.manifests.Identifiers() {
		list.Items = append(list.Items, completionItem{Label: identifier, Kind: 20, // a member of an enumeration
			Detail: f.manifests.Description(identifier), TextEdit: textEdit{f.span(start, end), identifier}})
	}
	return list
}
