package docsui

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

var placeholder = regexp.MustCompile(`\{([^}]+)\}`)

// curl is a command line that calls the operation: with every required part, and
// words in capitals for what only the caller knows.
func (d *document) curl(server, method, path string, op *operation, security []map[string][]string) string {
	path = placeholder.ReplaceAllStringFunc(path, func(p string) string { return capitals(p[1 : len(p)-1]) })
	var query []string
	var args []string
	for _, p := range op.Parameters {
		switch {
		case !p.Required:
		case p.In == "query":
			query = append(query, p.Name+"="+capitals(p.Name))
		case p.In == "header":
			args = append(args, "-H "+quote(p.Name+": "+capitals(p.Name)))
		}
	}
	if len(query) > 0 {
		path += "?" + strings.Join(query, "&")
	}
	args = append(args, d.credentials(security)...)
	if op.RequestBody != nil {
		args = append(args, d.bodyArgs(op.RequestBody.Content)...)
	}
	line := "curl "
	if method != "GET" {
		line += "-X " + method + " "
	}
	line += quote(server + path)
	for _, a := range args {
		line += " \\\n  " + a
	}
	return line
}

// credentials are the arguments for the first way to sign in.
func (d *document) credentials(security []map[string][]string) []string {
	if len(security) == 0 || len(schemeNames(security)) == 0 {
		return nil
	}
	var args []string
	for _, name := range strings.Split(schemeNames(security[:1])[0], " and ") {
		s := d.Components.SecuritySchemes.values[name]
		switch {
		case s.Type == "http" && strings.EqualFold(s.Scheme, "basic"):
			args = append(args, "-u USER:PASSWORD")
		case s.Type == "apiKey" && s.In == "header":
			args = append(args, "-H "+quote(s.Name+": "+capitals(s.Name)))
		case s.Type == "http" || s.Type == "oauth2" || s.Type == "openIdConnect":
			args = append(args, `-H "Authorization: Bearer $TOKEN"`)
		}
	}
	return args
}

// bodyArgs send the first kind of body that the operation takes.
func (d *document) bodyArgs(content ordered[media]) []string {
	if len(content.keys) == 0 {
		return nil
	}
	contentType := content.keys[0]
	m := content.values[contentType]
	switch {
	case strings.Contains(contentType, "json"):
		var b bytes.Buffer
		sample := d.sampleOf(m)
		if json.Compact(&b, sample) == nil {
			sample = b.Bytes()
		}
		return []string{"-H " + quote("Content-Type: "+contentType), "-d " + quote(string(sample))}
	case strings.HasPrefix(contentType, "multipart/"):
		var args []string
		props, required := d.properties(m.Schema)
		for _, name := range props.keys {
			if text, _ := d.typeText(props.values[name]); text == "file" {
				args = append(args, "-F "+quote(name+"=@FILE"))
			} else if slices.Contains(required, name) {
				args = append(args, "-F "+quote(name+"="+capitals(name)))
			}
		}
		return args
	}
	return []string{"-H " + quote("Content-Type: "+contentType), "--data-binary @FILE"}
}

// capitals is a placeholder for a value: PROFILE_ID.
func capitals(name string) string {
	return strings.ToUpper(strings.NewReplacer("-", "_", " ", "_").Replace(name))
}

// quote is s as one word of a shell's command line.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
