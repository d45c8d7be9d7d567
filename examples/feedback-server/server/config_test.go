package server_test

import (
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/server"
)

func TestConfigDefaults(t *testing.T) {
	t.Parallel()
	c, err := server.ParseConfig(nil)
	require.NoError(t, err)
	require.Empty(t, c.DatabaseURL)
	require.Equal(t, "127.0.0.1:8080", c.HTTPAddr)
	require.Equal(t, "local", c.ASRProvider)
	require.Equal(t, int64(128<<20), c.AudioMaxBytes)
	require.Equal(t, 30*time.Minute, c.ASRRequestTimeout)
	require.Equal(t, time.Hour, c.ASRJobLease)
	require.Equal(t, 1, c.ASRWorkerConcurrency)
	require.Equal(t, "16k_zh", c.CloudASREngineType)
	require.Equal(t, []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 8 * time.Hour},
		c.ASRRetryDelays)
	require.False(t, c.DevelopmentSignIn())
}

func TestREADMEDescribesEveryVariable(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[server.Config]()) {
		require.Contains(t, string(readme), "`"+field.Tag.Get("env")+"`")
	}
}

func TestZeroIsNotADefault(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ASR_WORKER_CONCURRENCY", "ASR_REQUEST_TIMEOUT_SECONDS", "AUDIO_MAX_BYTES"} {
		_, err := server.ParseConfig(map[string]string{name: "0"})
		require.ErrorContains(t, err, name+": must be above 0")
	}
}

// Seconds that a time.Duration cannot hold, some of which became a short time.
func TestSecondsAreLimited(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"DRAIN_SECONDS", "ASR_REQUEST_TIMEOUT_SECONDS", "ASR_MIN_TIMEOUT_SECONDS",
		"ASR_JOB_LEASE_SECONDS", "ASR_RETRY_SECONDS"} {
		for _, text := range []string{
			"1000000001", "9223372037", "18446744075", "-18446744072", "99999999999999999999",
		} {
			_, err := server.ParseConfig(map[string]string{name: text})
			require.Error(t, err, "%s=%s", name, text)
			require.Regexp(t, name+": must be (a )?whole numbers? of seconds, at most 1000000000", err.Error())
		}
	}
	c, err := server.ParseConfig(map[string]string{
		"DRAIN_SECONDS": "1000000000", "ASR_RETRY_SECONDS": "1, 1000000000",
	})
	require.NoError(t, err)
	require.Equal(t, 1e9*time.Second, c.Drain)
	require.Equal(t, []time.Duration{time.Second, 1e9 * time.Second}, c.ASRRetryDelays)
}

func TestRecordingsAreInADirectoryOrInABucket(t *testing.T) {
	t.Parallel()
	const bucket = "s3://recordings/school?endpoint=https://s3.example&region=eu-north-1"
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"a bucket":    {map[string]string{"AUDIO_STORAGE_URL": bucket}, ""},
		"a directory": {map[string]string{"AUDIO_STORAGE_DIR": "audio"}, ""},
		"both": {map[string]string{"AUDIO_STORAGE_URL": bucket, "AUDIO_STORAGE_DIR": "audio"},
			"must not both be set"},
		"the largest upload to a bucket": {
			map[string]string{"AUDIO_STORAGE_URL": bucket, "AUDIO_MAX_BYTES": "5368709120"}, ""},
		"larger than a bucket takes": {
			map[string]string{"AUDIO_STORAGE_URL": bucket, "AUDIO_MAX_BYTES": "5368709121"},
			"AUDIO_MAX_BYTES: must be at most 5368709120"},
		"another scheme": {map[string]string{"AUDIO_STORAGE_URL": "file:///hush"},
			"AUDIO_STORAGE_URL: must be s3://"},
		"half of a credential": {map[string]string{"AWS_SECRET_ACCESS_KEY": "hush"}, "must both be set"},
	} {
		_, err := server.ParseConfig(c.env)
		if c.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, c.want, name)
		require.NotContains(t, err.Error(), "hush", name)
	}
}

func TestErrorNamesEveryBadVariable(t *testing.T) {
	t.Parallel()
	_, err := server.ParseConfig(map[string]string{
		"DATABASE_URL":                  "mysql://user:hush@host/db",
		"HTTP_ADDR":                     "hush",
		"APP_ENV":                       "staging",
		"LOG_LEVEL":                     "loud",
		"ALLOW_DEVELOPMENT_USER_HEADER": "hush",
		"ASR_WORKER_CONCURRENCY":        "hush",
		"LOCAL_ASR_CONVERT":             "hush",
		"ASR_JOB_LEASE_SECONDS":         "1800",
		"ASR_PROVIDER":                  "cloud",
		"CLOUD_ASR_SECRET_KEY":          "hush",
		"LOCAL_ASR_URL":                 "localhost:9000",
		"CLOUD_ASR_API_URL":             "http://gateway.example",
		"MINIAPP_APP_SECRET":            "hush",
		"FEEDBACK_SUMMARY_API_URL":      "https://sum.example/v1",
		"AUDIO_MAX_BYTES":               "-1",
		"TRUSTED_PROXIES":               "10.0.0.0/8,everybody",
	})
	require.Error(t, err)
	for _, name := range []string{
		"DATABASE_URL", "HTTP_ADDR", "APP_ENV", "LOG_LEVEL: must be debug",
		"ALLOW_DEVELOPMENT_USER_HEADER: must be true or false", "ASR_WORKER_CONCURRENCY: must be a whole number",
		"LOCAL_ASR_CONVERT: must be true or false",
		"ASR_JOB_LEASE_SECONDS: must exceed ASR_REQUEST_TIMEOUT_SECONDS (1800)", "CLOUD_ASR_APP_ID", "LOCAL_ASR_URL",
		"CLOUD_ASR_API_URL: must be an https:// address",
		"MINIAPP_APP_ID", "FEEDBACK_SUMMARY_MODEL", "AUDIO_MAX_BYTES", "TRUSTED_PROXIES",
	} {
		require.ErrorContains(t, err, name)
	}
	require.Equal(t, 1, strings.Count(err.Error(), "ASR_WORKER_CONCURRENCY"))
	require.NotContains(t, err.Error(), "hush", "the error contains no values")
}

// These values have the right type; the packages that use them reject them.
func TestErrorNamesEveryVariableWithARejectedValue(t *testing.T) {
	t.Parallel()
	_, err := server.ParseConfig(map[string]string{
		"DATABASE_URL":             "postgres://user:hush@host:99999/db",
		"HTTP_ADDR":                "127.0.0.1:99999",
		"AUDIO_MAX_BYTES":          "9223372036854775807",
		"ASR_PROVIDER":             "cloud",
		"CLOUD_ASR_APP_ID":         "hush",
		"CLOUD_ASR_SECRET_ID":      "hush hush",
		"CLOUD_ASR_SECRET_KEY":     "hush hush",
		"CLOUD_ASR_ENGINE_TYPE":    "16k zh",
		"FEEDBACK_SUMMARY_API_KEY": "hush hush",
	})
	require.Error(t, err)
	for _, name := range []string{"DATABASE_URL", "HTTP_ADDR", "AUDIO_MAX_BYTES", "CLOUD_ASR_APP_ID",
		"CLOUD_ASR_SECRET_ID", "CLOUD_ASR_SECRET_KEY",
		"CLOUD_ASR_ENGINE_TYPE", "FEEDBACK_SUMMARY_API_KEY"} {
		require.ErrorContains(t, err, "\n  "+name+": ")
	}
	require.NotContains(t, err.Error(), "hush", "the error contains no values")
}

func TestAddressesOfDatabases(t *testing.T) {
	t.Parallel()
	const form, escapes = "must be a valid postgres://", "must have %40, %2F, %3F and %23"
	for address, mistake := range map[string]string{
		"sqlite:lessons.db": "", "sqlite:/data/lessons.db": "", "postgres://user@host/db?sslmode=require": "",
		"postgres://user:p@ss@host/db": "", "postgres://user:p%40s%2Fs@host/db": "",
		"postgres://user@host/db?application_name=a@b": "", "postgres://host/db?user=teacher@school": "",
		"sqlite:": form, "sqlite://data/lessons.db": form, "sqlite:lessons.db?_pragma=busy_timeout(5)": form,
		"lessons.db": form, "postgres://user@host/db?sslmode=ful": form,
		// The log would have a part of the password as the name of the host or the database.
		"postgres://user:p@s/s@host/db": escapes, "postgres://user:12/s@host/db": escapes,
		"postgres://user:12?s@host/db": escapes, "postgres://user:12/=s@host/db": escapes,
		"postgres://user@host/db?sslmode=verify-full&sslrootcert=/no/ca.pem": "open /no/ca.pem: no such file",
	} {
		for _, name := range []string{"DATABASE_URL", "MIGRATE_DATABASE_URL"} {
			_, err := server.ParseConfig(map[string]string{name: address})
			if mistake == "" {
				require.NoError(t, err, address)
			} else {
				require.ErrorContains(t, err, "\n  "+name+": "+mistake, address)
			}
		}
	}
}

func TestSpacesBetweenTrustedProxiesAreIgnored(t *testing.T) {
	t.Parallel()
	c, err := server.ParseConfig(map[string]string{"TRUSTED_PROXIES": "10.0.0.0/8, 192.0.2.1"})
	require.NoError(t, err)
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.1/32")},
		c.TrustedProxies)
}

func TestEnvironmentOverridesTheFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), ".env")
	const content = "# a comment\nHTTP_ADDR=:1\nLOCAL_ASR_URL=\"http://file/\"\nASR_PROVIDER=\n"
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	environment, unknown, err := server.Environment([]string{"HTTP_ADDR=:2", "LOG_LEVEL="}, file)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"HTTP_ADDR": ":2", "LOCAL_ASR_URL": "http://file/"}, environment)

	require.Empty(t, unknown)

	_, _, err = server.Environment(nil, filepath.Join(t.TempDir(), "none"))
	require.NoError(t, err)

	_, _, err = server.Environment(nil, t.TempDir())
	require.ErrorContains(t, err, "is a directory")
	require.NotContains(t, err.Error(), "NAME=value")
}

func TestMistakesInTheFileHaveLines(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), ".env")
	for text, want := range map[string]string{
		"SECRET KEY without sense":                            "line 1 is not NAME=value",
		"# a comment\n\nHTTP_ADDR=:1\nSECRET\nLOG_LEVEL=info": "line 4 is not NAME=value",
		"A='two\nlines'\nB=\"SECRET\nC=3\n":                   "line 3 has a quote that is not closed",
		"A=1\nB=\"SECRET\nC=\"3\"\n":                          "line 2 has a quote that is not closed",
		"A=1\r\nB=2\r\nSECRET-KEY=1\r\n":                      "line 3 is not NAME=value",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, _, err := server.Environment(nil, file)
		require.EqualError(t, err, file+": "+want)
	}
}

// A misspelt name is told, and neither a value nor a name that is somebody else's.
func TestUnknownVariables(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), ".env")
	require.NoError(t, os.WriteFile(file, []byte("LOCAL_ASR_URI=x\nHTTP_ADR=\nLOG_LEVEL=info\nc2VjcmV0==\n"), 0o600))
	_, unknown, err := server.Environment([]string{"AUDIO_RETENTION_DAY=3", "HTTP_PROXY=x", "LOCAL_ASR_URI=y",
		"LOCAL_ASR_URL=http://localhost", "AWS_REGION=x", "TRUSTED_PROXY=10.0.0.1", "LOGIN_PER_MINUTE=3"}, file)
	require.NoError(t, err)
	require.Equal(t, []string{"AUDIO_RETENTION_DAY", "HTTP_ADR", "LOCAL_ASR_URI", "LOGIN_PER_MINUTE",
		"TRUSTED_PROXY"}, unknown)
}

func TestSecretsAreNotSentUnencrypted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		address string
		ok      bool
	}{
		{"https://service.example/v1", true},
		{"http://127.0.0.1:8090", true},
		{"http://[::1]:8090", true},
		{"http://localhost:8090", true},
		{"http://service.example/v1", false},
		{"HTTP://192.168.1.5:8090", false},
		{"http://localhost.example", false},
		{"http://127.0.0.1@service.example", false},
	} {
		for name, secrets := range map[string]map[string]string{
			"LOCAL_ASR_URL":            {"LOCAL_ASR_API_KEY": "hush"},
			"FEEDBACK_SUMMARY_API_URL": {"FEEDBACK_SUMMARY_API_KEY": "hush"},
			"MINIAPP_API_URL":          {"MINIAPP_APP_ID": "id", "MINIAPP_APP_SECRET": "hush"},
		} {
			environment := map[string]string{name: c.address, "FEEDBACK_SUMMARY_MODEL": "m"}
			_, err := server.ParseConfig(environment)
			require.NoError(t, err, "nothing secret is sent to %s", c.address)
			maps.Copy(environment, secrets)
			_, err = server.ParseConfig(environment)
			if c.ok {
				require.NoError(t, err, c.address)
				continue
			}
			require.ErrorContains(t, err, name+": must be an https:// address", c.address)
			require.NotContains(t, err.Error(), "hush")
		}
	}
}

func TestPromptFilesAreChecked(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "prompt.txt")
	environment := map[string]string{"AUDIO_STORAGE_DIR": t.TempDir(), "FEEDBACK_SUMMARY_PROMPT_FILE": file,
		"DATABASE_URL": "sqlite:" + filepath.Join(t.TempDir(), "x.db")}
	_, err := server.ParseConfig(environment)
	require.ErrorContains(t, err, "FEEDBACK_SUMMARY_PROMPT_FILE: is for a model")
	environment["FEEDBACK_SUMMARY_API_URL"], environment["FEEDBACK_SUMMARY_MODEL"] = "https://sum.example", "m"
	config, err := server.ParseConfig(environment)
	require.NoError(t, err)
	_, err = server.New(t.Context(), config, server.Options{Role: server.RoleAll})
	require.ErrorContains(t, err, "FEEDBACK_SUMMARY_PROMPT_FILE: open ")
	for text, ok := range map[string]bool{"": false, " \n": false, "\xff": false, strings.Repeat("x", 32<<10+1): false,
		strings.Repeat("x", 32<<10): true} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		s, err := server.New(t.Context(), config, server.Options{Role: server.RoleAll})
		if ok {
			require.NoError(t, err)
			require.NoError(t, s.Close())
			continue
		}
		require.ErrorContains(t, err,
			"FEEDBACK_SUMMARY_PROMPT_FILE: "+file+" must be a text in UTF-8 of at most 32768 bytes")
	}
}
