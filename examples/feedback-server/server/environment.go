package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
	"github.com/joho/godotenv"
)

// Environment merges environ, a list of NAME=value, over the variables of a file such as .env. The
// file need not exist. Variables with an empty value are left out. unknown are the names, perhaps
// misspelt, that no variable of a [Config] has: those in the file, and those in environ that look
// like one.
func Environment(environ []string, file string) (merged map[string]string, unknown []string, err error) {
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	merged, err = godotenv.UnmarshalBytes(append(text, '\n'))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, firstMistake(string(text)))
	}
	known := map[string]bool{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		known[field.Tag.Get("env")] = true
	}
	for name := range merged {
		if !known[name] && variableName.MatchString(name) {
			unknown = append(unknown, name)
		}
	}
	for name, value := range env.ToMap(environ) {
		if !known[name] && ourName.MatchString(name) {
			unknown = append(unknown, name)
		}
		merged[name] = value
	}
	for name, value := range merged {
		if strings.TrimSpace(value) == "" {
			delete(merged, name)
		}
	}
	slices.Sort(unknown)
	return merged, slices.Compact(unknown), nil
}

var (
	variableName = regexp.MustCompile(`^[A-Z0-9_]+$`) // what else stands before a = may be a part of a secret
	ourName      = regexp.MustCompile(
		`^(ASR|AUDIO|CLOUD_ASR|DEVELOPMENT|FEEDBACK_SUMMARY|LIMIT|LOCAL_ASR|LOGINS?|MINIAPP|OAUTH|OPERATOR|` +
			`TRUSTED)_[A-Z0-9_]+$`)
)

// firstMistake tells where a text is no list of NAME=value. It repeats nothing of the line, which
// may contain a secret, as the parser's error does. The lines before it are a list.
func firstMistake(text string) error {
	lines := strings.SplitAfter(text+"\n", "\n")
	good := len(lines) - 1
	for ; good > 0; good-- {
		if _, err := godotenv.Unmarshal(strings.Join(lines[:good], "")); err == nil {
			break
		}
	}
	_, err := godotenv.Unmarshal(lines[good])
	if err != nil && strings.HasPrefix(err.Error(), "unterminated") {
		return fmt.Errorf("line %d has a quote that is not closed", good+1)
	}
	return fmt.Errorf("line %d is not NAME=value", good+1)
}
