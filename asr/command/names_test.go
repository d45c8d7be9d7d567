package command_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/command"
	"lessonkit.example/internal/tempdir/tempdirtest"
)

// TestMain lets this program be the recogniser that TestNamesAreRightWithWords runs, and the
// process of TestRecordingsOfAKilledProcessAreDeleted.
func TestMain(m *testing.M) {
	if dir := os.Getenv(tempdirtest.Env); dir != "" {
		recognizeUntilKilled(dir)
	}
	if len(os.Args) == 4 && os.Args[1] == "recognise-with-words" {
		if err := recogniseWithWords(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestNamesAreRightWithWords measures how many of ten names PocketSphinx recognises with and
// without Audio.Words.
func TestNamesAreRightWithWords(t *testing.T) {
	t.Parallel()
	needs(t, "pocketsphinx_continuous", "ffmpeg", "flite")
	names := []string{"Siobhan", "Nguyen", "Padraig", "Xavier", "Mireille", "Giovanni", "Tatiana", "Anneliese",
		"Leopold", "Ramona"}
	program, err := os.Executable()
	require.NoError(t, err)
	cfg := command.PocketSphinx()
	cfg.Args = []string{program, "recognise-with-words", "{input}", "{prompt}"}
	cfg.Parse = command.Lines
	rec, err := command.New(cfg)
	require.NoError(t, err)
	right := func(words []string) (n int) {
		for _, name := range names {
			audio, err := asr.FromFile(say(t, "Today "+name+" painted a small pond with a wooden bridge."))
			require.NoError(t, err)
			audio.Words = words
			got, err := rec.Recognize(t.Context(), audio)
			require.NoError(t, err)
			require.Contains(t, got.Text, "wooden bridge", "the rest is as it was")
			if strings.Contains(strings.ToLower(got.Text), "today "+strings.ToLower(name)+" ") {
				n++
			}
		}
		return n
	}
	without, with := right(nil), right(names)
	t.Logf("names recognised: %d of %d without words, %d with", without, len(names), with)
	require.LessOrEqual(t, without, 5, "the names are too easy to measure anything")
	require.GreaterOrEqual(t, with, 7)
}

// recogniseWithWords prints what PocketSphinx recognises. It takes words, separated by commas, by a
// second run that spots them, with their pronunciation by flite: each replaces what the first run
// heard at its time.
func recogniseWithWords(wav, words string) error {
	heard, err := pocketSphinx(wav)
	if err != nil {
		return err
	}
	if words != "" {
		spotted, err := spot(wav, strings.Split(words, ", "))
		if err != nil {
			return err
		}
		heard = replace(heard, spotted)
	}
	for _, w := range heard {
		fmt.Print(w.Text, " ")
	}
	fmt.Println()
	return nil
}

func pocketSphinx(wav string, args ...string) ([]asr.Word, error) {
	args = append([]string{"-infile", wav, "-time", "yes", "-logfn", wav + ".log"}, args...)
	out, err := exec.Command("pocketsphinx_continuous", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("pocketsphinx_continuous: %w", err)
	}
	var t asr.Transcript
	parse := command.TimedWords(&t)
	for line := range strings.Lines(string(out)) {
		parse(strings.Join(strings.Fields(line), " ")) // a spotted word ends with a space
	}
	return t.Words, nil
}

// spot returns the words that occur, with their times.
func spot(wav string, words []string) ([]asr.Word, error) {
	var dictionary, list bytes.Buffer
	spelled := map[string]string{}
	for _, word := range words {
		phones, err := exec.Command("flite", "-ps", "-o", "none", "-t", word).Output()
		if err != nil {
			return nil, fmt.Errorf("flite: %w", err)
		}
		entry := strings.ToLower(strings.ReplaceAll(word, " ", "_"))
		spelled[entry] = word
		// The dictionary of PocketSphinx has no pauses, and AH for the AX of flite.
		said := strings.Fields(strings.ToUpper(strings.ReplaceAll(string(phones), "pau", "")))
		for i, phone := range said {
			if phone == "AX" {
				said[i] = "AH"
			}
		}
		fmt.Fprintln(&dictionary, entry, strings.Join(said, " "))
		fmt.Fprintln(&list, entry, "/1e-15/")
	}
	dir := filepath.Dir(wav)
	dictionaryFile, listFile := filepath.Join(dir, "words.dict"), filepath.Join(dir, "words")
	if err := errors.Join(os.WriteFile(dictionaryFile, dictionary.Bytes(), 0o600),
		os.WriteFile(listFile, list.Bytes(), 0o600)); err != nil {
		return nil, err
	}
	found, err := pocketSphinx(wav, "-dict", dictionaryFile, "-kws", listFile)
	for i := range found {
		found[i].Text = spelled[found[i].Text]
	}
	return found, err
}

// replace returns heard with the spotted words in place of those whose middle is in their time.
func replace(heard, spotted []asr.Word) []asr.Word {
	var out []asr.Word
	for _, w := range heard {
		middle := (w.Start + w.End) / 2
		for len(spotted) > 0 && spotted[0].End < middle {
			out, spotted = append(out, spotted[0]), spotted[1:]
		}
		if len(spotted) == 0 || middle < spotted[0].Start {
			out = append(out, w)
		}
	}
	return append(out, spotted...)
}
