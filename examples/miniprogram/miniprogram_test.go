// Package miniprogram_test tests the mini program without the tools of its platform.
package miniprogram_test

import (
	"context"
	"encoding/json"
	"flag"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr/asrtest"
	"lessonkit.example/auth/authtest"
	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/examples/internal/nodetest"
	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/internal/longtest"
)

var update = flag.Bool("update", false, "write the generated types anew")

// recordings are files whose text asrtest.Heard tells.
func recordings(t *testing.T) (paths []string) {
	t.Helper()
	for _, n := range []string{"0", "1", "2"} {
		path, err := filepath.Abs("../internal/demo/speech/lesson1-segment" + n + ".mp3")
		require.NoError(t, err)
		paths = append(paths, path)
	}
	return paths
}

// start runs a server whose recogniser returns asrtest.Heard unless settings name another, and
// returns its address and the platform that its users sign in with.
func start(t *testing.T, settings map[string]string) (*server.Server, string, *authtest.Platform) {
	t.Helper()
	platform := authtest.NewPlatform(t)
	all := map[string]string{
		"APP_ENV": "production", "DATABASE_URL": "sqlite:" + filepath.Join(t.TempDir(), "x.db"),
		"AUDIO_STORAGE_DIR": t.TempDir(), "LOCAL_ASR_URL": asrtest.NewServer(t, asrtest.OpenAI).URL,
		"MINIAPP_APP_ID": platform.AppID, "MINIAPP_APP_SECRET": platform.Secret,
		"MINIAPP_API_URL": platform.Endpoint(),
	}
	maps.Copy(all, settings)
	config, err := server.ParseConfig(all)
	require.NoError(t, err)
	require.NoError(t, server.Migrate(t.Context(), config, slog.New(slog.DiscardHandler)))
	s, err := server.New(t.Context(), config, server.Options{Role: server.RoleAll, Version: "test"})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return s, "http://" + listener.Addr().String(), platform
}

func TestTypesAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	nodetest.RequireNode(t, 20)
	s, _, _ := start(t, nil)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	file := filepath.Join(t.TempDir(), "openapi.json")
	require.NoError(t, os.WriteFile(file, w.Body.Bytes(), 0o600))
	got := nodetest.Run(t, ".", []string{"OPENAPI=" + file}, "generate.mjs")
	const types = "miniprogram/api/types.ts"
	if *update {
		require.NoError(t, os.WriteFile(types, []byte(got), 0o644))
	}
	want, err := os.ReadFile(types)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "run the test with -update when the change is meant")
}

func TestProjectCompilesWithThePlatformsTypes(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	nodetest.Run(t, ".", nil, "test/compile.mjs", "check")
}

// inVM runs a test of vm.mjs and decodes what it prints.
func inVM(t *testing.T, test string, into any, settings map[string]string, env ...string) (url string) {
	t.Helper()
	_, url, platform := start(t, settings)
	var codes []string
	for _, user := range []string{"ann", "ben", "ann"} {
		codes = append(codes, platform.Code(authtest.User{OpenID: user}))
	}
	out := nodetest.Run(t, ".", append(env,
		"TZ="+zone(), "SERVER="+url, "CODES="+strings.Join(codes, "\n"),
		"RECORDINGS="+strings.Join(recordings(t), "\n"),
	), "test/vm.mjs", test)
	require.NoError(t, json.Unmarshal([]byte(out), into), out)
	return url
}

// zone returns the name of a zone whose day is not the server's, and does not end soon.
func zone() string {
	if time.Now().UTC().Hour() < 11 {
		return "Etc/GMT+12" // noon or later of the day before
	}
	return "Etc/GMT-14" // one o'clock or later of the next day
}

func TestContractInABareVM(t *testing.T) {
	t.Parallel()
	var result struct{ Uploads int }
	inVM(t, "contract", &result, nil)
	require.Equal(t, 5, result.Uploads)
}

// A teacher's way through all pages: two segments are uploaded, the third is recorded without a
// network and outlives the program, the fourth follows it.
func TestPagesFromSignInToTheSavedRecord(t *testing.T) {
	t.Parallel()
	var result struct {
		Transcript, Generated, Note, Token string

		Day                                 string // of the phone, which is not the server's
		Kept, Left, Toasts, Copied, Expired []string
		Questions                           []string
		Awake                               []bool // the screen, while recording and after that
		Before, Uploads                     int
		Device                              string
		Statuses                            []int // of a page that waits, was confirmed, was signed out
		Listed                              []string
		Played                              [][]float64 // the sizes of recordings, and from where
		Found                               struct {
			Name, Content, Day, Copied string
			Unfound                    int
		}
	}
	url := inVM(t, "pages", &result, nil)
	require.Len(t, result.Expired, 2, "is told, and does not end the recording")
	require.Contains(t, result.Expired[0], "Sign in again")
	require.Equal(t, 2, result.Before, "uploads before the network went away")
	require.Equal(t, 5, result.Uploads, "every recording is uploaded once")
	require.Len(t, result.Kept, 1, "the outbox outlives the program")
	require.Empty(t, result.Left)
	require.Equal(t, []bool{true, false}, result.Awake)
	require.Len(t, result.Questions, 1)
	require.Contains(t, result.Questions[0], "Allow the microphone")
	require.Equal(t, []string{
		"Recording has stopped, because you left the mini program. What was recorded is kept.",
		"The phone does not let it be copied. Select the text below.", "这不是登录码。",
	}, result.Toasts)
	require.Equal(t, "Firefox, Windows", result.Device)
	require.Equal(t, []int{202, 200, 401}, result.Statuses)
	require.ElementsMatch(t, []string{"本手机", "Firefox, Windows"}, result.Listed)
	require.Len(t, result.Copied, 2, "the text that was being written, and the record")
	for _, copied := range result.Copied {
		require.Regexp(t, `小明's .*\n\nShe mixed her own greens today.\n`, copied)
	}
	second, err := os.ReadFile(recordings(t)[1])
	require.NoError(t, err)
	require.Equal(t, [][]float64{{float64(len(second)), 0}}, result.Played)
	require.Equal(t, "小明", result.Found.Name)
	require.Equal(t, "She mixed her own greens today.", result.Found.Content)
	require.Equal(t, result.Day, result.Found.Day)
	require.Equal(t, result.Copied[1], result.Found.Copied)
	require.Zero(t, result.Found.Unfound)
	var heard []string
	for _, n := range []int{0, 1, 2, 0} {
		data, err := os.ReadFile(recordings(t)[n])
		require.NoError(t, err)
		heard = append(heard, asrtest.Heard(data))
	}
	require.Equal(t, strings.Join(heard, "\n"), result.Transcript, "complete, and in the order in which it was spoken")
	require.NotEmpty(t, result.Generated)

	c := feedbackclient.Client{Base: url, Header: http.Header{"Authorization": {"Bearer " + result.Token}}}
	var contents []string
	for record, err := range c.Records(t.Context(), "") {
		require.NoError(t, err)
		require.Equal(t, result.Day, record.Date)
		contents = append(contents, record.Content)
	}
	require.Equal(t, []string{result.Note, "She mixed her own greens today."}, contents)
}
