package cloud_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/audiofile"
	"lessonkit.example/asr/cloud"
)

// account configures the account of the fakes, at their addresses. Each may be nil.
func account(flash *asrtest.Server, api *apiServer, mode cloud.Mode) cloud.Config {
	cfg := cloud.Config{
		AppID: appID, SecretID: secretID, SecretKey: secretKey,
		Mode: mode, PollInterval: time.Millisecond, Concurrency: 4,
		FlashURL: "http://127.0.0.1:1", APIURL: "http://127.0.0.1:1", // nothing listens there
	}
	if flash != nil {
		cfg.FlashURL = flash.URL
	}
	if api != nil {
		cfg.APIURL = api.URL
	}
	return cfg
}

func connect(t testing.TB, cfg cloud.Config) *cloud.Recognizer {
	t.Helper()
	rec, err := cloud.New(cfg)
	require.NoError(t, err)
	return rec
}

// recognize recognises one second of audio.
func recognize(t testing.TB, rec asr.Recognizer) (asr.Transcript, error) {
	t.Helper()
	return rec.Recognize(t.Context(), asr.FromBytes("a", asrtest.WAV(time.Second)))
}

func TestConformance(t *testing.T) {
	t.Parallel()
	audio := asrtest.WAV(2 * time.Second)
	for _, mode := range []cloud.Mode{cloud.Flash, cloud.Task} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			flash, api := newFlash(t), newAPI(t)
			asrtest.Run(t, asrtest.Target{
				New: func(t testing.TB) asr.Recognizer {
					return connect(t, account(flash, api, mode))
				},
				Audio: audio, Text: asrtest.Heard(audio), TextOf: asrtest.Heard,
				Secrets: []string{secretKey, secretID},
			})
		})
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	client := func(mode cloud.Mode) func(t testing.TB, url string, timeout time.Duration) asr.Recognizer {
		return func(t testing.TB, url string, timeout time.Duration) asr.Recognizer {
			cfg := account(nil, nil, mode)
			cfg.FlashURL, cfg.APIURL, cfg.RequestTimeout = url, url, timeout
			return connect(t, cfg)
		}
	}
	t.Run("flash", func(t *testing.T) {
		t.Parallel()
		outcomes := asrtest.Outcomes("")
		outcomes[asrtest.ErrorIn200] = asrtest.Outcome{Class: asr.ErrUnusableAudio} // 5002, twice
		asrtest.RunFaults(t, newFlash, outcomes, client(cloud.Flash))
	})
	t.Run("task", func(t *testing.T) {
		t.Parallel()
		outcomes := asrtest.Outcomes("")
		delete(outcomes, asrtest.ErrorIn200)
		delete(outcomes, asrtest.NoText)
		// The answer may have been that a task was created, which is paid for: the failure counts.
		for _, f := range []asrtest.Fault{asrtest.HTML, asrtest.Cut, asrtest.Endlessly} {
			outcomes[f] = asrtest.Outcome{Class: asr.ErrLost}
		}
		// A task that was created goes on.
		outcomes[asrtest.Hang] = asrtest.Outcome{Class: asr.ErrUnavailable, RetryAfter: 30 * time.Second}
		start := func(t testing.TB) *asrtest.Server { return newAPI(t).Server }
		asrtest.RunFaults(t, start, outcomes, client(cloud.Task))
	})
}

func TestConfigurationErrorsContainNoSecret(t *testing.T) {
	t.Parallel()
	_, err := cloud.New(cloud.Config{
		SecretKey: "s3cret key", EngineType: "16k zh", Mode: "fast",
	})
	require.Error(t, err)
	for _, says := range []string{
		"SecretID is missing", "SecretKey contains invalid", "EngineType contains", `Mode is "fast"`,
	} {
		require.ErrorContains(t, err, says)
	}
	require.NotContains(t, err.Error(), "s3cret")
	_, err = cloud.New(cloud.Config{SecretID: "a", SecretKey: "b"})
	require.EqualError(t, err, "cloud recogniser: AppID is missing")
	_, err = cloud.New(cloud.Config{SecretID: "a", SecretKey: "b", Mode: cloud.Task})
	require.NoError(t, err, "only flash needs the AppID")
}

func TestFlashRequestMatchesTheDocumentation(t *testing.T) {
	t.Parallel()
	s := newFlash(t)
	cfg := account(s, nil, cloud.Flash)
	cfg.EngineType = "8k_en"
	audio := asr.FromBytes("a", asrtest.WAV(time.Second))
	audio.Words = []string{"练习", "page two"} // signed as they are, sent escaped
	got, err := connect(t, cfg).Recognize(t.Context(), audio)
	require.NoError(t, err)
	require.Equal(t, time.Second, got.Duration)
	require.Equal(t, "en", got.Language)
	require.Equal(t, "8k_en", got.Model)
	require.Len(t, got.Segments, 2)
	first := asr.Segment{Start: 0, End: 500 * time.Millisecond, Text: "heard 32044 bytes"}
	require.Equal(t, first, got.Segments[0])
	req := s.Requests()[0]
	require.EqualValues(t, len(asrtest.WAV(time.Second)), req.ContentLength, "never chunked")
	require.Equal(t, "application/octet-stream", req.FileType)
	require.Equal(t, "wav", req.Fields["voice_format"])
	require.Equal(t, "8k_en", req.Fields["engine_type"])
	require.Equal(t, "练习|10,page two|10", req.Fields["hotword_list"])
}

func TestClassesOfFlashCodes(t *testing.T) {
	t.Parallel()
	for class, codes := range map[error][]int{
		asr.ErrMisconfigured: {4001, 4002, 6001},
		asr.ErrRefused:       {4003, 4004, 4005},
		asr.ErrUnavailable:   {4006, 4008, 4009},
		asr.ErrLost:          {5003},
		asr.ErrUnusableAudio: {4007, 4010, 4011, 4012, 5002},
	} {
		for _, code := range codes {
			s := newFlash(t)
			s.SetFault(flashCode(code))
			rec := connect(t, account(s, nil, cloud.Flash))
			_, err := recognize(t, rec)
			require.ErrorIs(t, err, class, "%d", code)
			e, _ := errors.AsType[*asr.Error](err)
			require.Equal(t, class == asr.ErrUnusableAudio, e.Permanent(), "%d", code)
			available := class == asr.ErrUnavailable || class == asr.ErrLost || class == asr.ErrUnusableAudio
			require.Equal(t, available, rec.Status(t.Context()).Available, "%d", code)
			sent := 1
			if code == 5002 {
				sent = 2
			}
			require.Len(t, s.Requests(), sent, "%d", code)
		}
	}
	s := newFlash(t)
	s.SetFault(flashCode(7777))
	_, err := recognize(t, connect(t, account(s, nil, cloud.Flash)))
	e, ok := errors.AsType[*asr.Error](err)
	require.True(t, ok)
	require.NoError(t, e.Class, "an unknown code counts an attempt")
	require.Zero(t, e.RetryAfter())
}

func TestFlashRetriesOnceWhenTheEngineFails(t *testing.T) {
	t.Parallel()
	s := newFlash(t)
	s.SetFault(flashCodeOnce(5002))
	got, err := recognize(t, connect(t, account(s, nil, cloud.Flash)))
	require.NoError(t, err)
	require.Equal(t, asrtest.Heard(asrtest.WAV(time.Second)), got.Text)
}

// sparse returns a WAV file of silence, which takes hardly any space.
func sparse(t *testing.T, size int64, rate int) asr.Audio {
	path := filepath.Join(t.TempDir(), "a.wav")
	head := audiofile.PCM{Rate: rate, Channels: 1}.Header(size - audiofile.HeaderSize)
	require.NoError(t, os.WriteFile(path, head, 0o600))
	require.NoError(t, os.Truncate(path, size))
	audio, err := asr.FromFile(path)
	require.NoError(t, err)
	return audio
}

func TestLimitsAreCheckedBeforeSending(t *testing.T) {
	t.Parallel()
	flash, api := newFlash(t), newAPI(t)
	for _, c := range []struct {
		name  string
		mode  cloud.Mode
		audio asr.Audio
		says  string
	}{
		{"flash over 100 MB", cloud.Flash, sparse(t, 100<<20+1, 48000), "larger than the 100 MB"},
		{"flash over two hours", cloud.Flash, sparse(t, 2*7201*4000+44, 4000), "lasts 2h0m1s; this interface takes"},
		{"task over 5 MB", cloud.Task, sparse(t, 5<<20+1, 16000), "larger than the 5 MB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := connect(t, account(flash, api, c.mode)).Recognize(t.Context(), c.audio)
			require.ErrorIs(t, err, asr.ErrUnusableAudio)
			require.ErrorContains(t, err, c.says)
		})
	}
	require.Empty(t, flash.Requests())
	require.Empty(t, api.Requests())
}

// flac returns the header of a FLAC file and zeros.
func flac() []byte {
	b := append([]byte("fLaC\x00\x00\x00\x22"), make([]byte, 5000)...)
	binary.BigEndian.PutUint64(b[18:], 16000<<44|15<<36|16000)
	return b
}

func TestRecordingShorterThanItsHeader(t *testing.T) {
	t.Parallel()
	cut := append(audiofile.PCM{Rate: 16000, Channels: 1}.Header(32000*60), asrtest.Samples(time.Second)...)
	flash, api := newFlash(t), newAPI(t)
	for _, mode := range []cloud.Mode{cloud.Flash, cloud.Task} {
		got, err := connect(t, account(flash, api, mode)).Recognize(t.Context(), asr.FromBytes("a.wav", cut))
		require.NoError(t, err)
		require.Equal(t, time.Second, got.Duration)
		require.Equal(t, time.Minute, got.HeaderDuration)
	}
}

func TestTasksTakeWhatFlashDoesNot(t *testing.T) {
	t.Parallel()
	flash, api := newFlash(t), newAPI(t)
	_, err := connect(t, account(flash, api, cloud.Flash)).Recognize(t.Context(), asr.FromBytes("a.flac", flac()))
	require.NoError(t, err)
	require.Empty(t, flash.Requests())
	require.Equal(t, "CreateRecTask", api.Requests()[0].Path)
}

func TestWrongKeyIsMisconfigured(t *testing.T) {
	t.Parallel()
	flash, api := newFlash(t), newAPI(t)
	for _, mode := range []cloud.Mode{cloud.Flash, cloud.Task} {
		cfg := account(flash, api, mode)
		cfg.SecretKey = "another"
		_, err := recognize(t, connect(t, cfg))
		require.ErrorIs(t, err, asr.ErrMisconfigured)
		require.NotContains(t, err.Error(), "another")
	}
}
