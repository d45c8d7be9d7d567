package server

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/joho/godotenv"

	"lessonkit.example/feedback/summary"
	"lessonkit.example/internal/sqldb"
)

// Config is everything the server is told by its environment. The names are
// the interface's.
type Config struct {
	DatabaseURL string `env:"DATABASE_URL"` // postgres://… or sqlite:PATH; empty: no data endpoints

	HTTPAddr  string     `env:"HTTP_ADDR" envDefault:"127.0.0.1:8080"`
	AppEnv    string     `env:"APP_ENV" envDefault:"development"` // development | production
	LogLevel  slog.Level `env:"LOG_LEVEL" envDefault:"info"`      // debug | info | warn | error
	LogFormat string     `env:"LOG_FORMAT" envDefault:"text"`     // text | json

	// DrainSecs is how long a server that was asked to stop goes on to serve and
	// says at /readyz that it does not: a load balancer that asks there sends
	// its clients elsewhere before the port is closed.
	DrainSecs int `env:"DRAIN_SECONDS" envDefault:"0"`

	// TrustedProxies are the networks whose X-Forwarded-For is believed.
	TrustedProxies []string `env:"TRUSTED_PROXIES"`

	MiniappAppID         string `env:"MINIAPP_APP_ID"`
	MiniappAppSecret     string `env:"MINIAPP_APP_SECRET"`
	MiniappAPIURL        string `env:"MINIAPP_API_URL"` // where codes are exchanged; empty: the platform's own
	AllowDevelopmentUser bool   `env:"ALLOW_DEVELOPMENT_USER_HEADER"`

	AudioStorageDir string `env:"AUDIO_STORAGE_DIR" envDefault:"lessonkit-data/audio"`
	AudioMaxBytes   int64  `env:"AUDIO_MAX_BYTES" envDefault:"134217728"`

	ASRProvider           string `env:"ASR_PROVIDER" envDefault:"local"` // local | cloud
	LocalASRURL           string `env:"LOCAL_ASR_URL"`
	LocalASRModel         string `env:"LOCAL_ASR_MODEL"`
	LocalASRAPIKey        string `env:"LOCAL_ASR_API_KEY"`
	ASRRequestTimeoutSecs int    `env:"ASR_REQUEST_TIMEOUT_SECONDS" envDefault:"1800"`
	ASRWorkerConcurrency  int    `env:"ASR_WORKER_CONCURRENCY" envDefault:"1"`
	ASRJobLeaseSecs       int    `env:"ASR_JOB_LEASE_SECONDS" envDefault:"3600"`

	CloudASRAppID      string `env:"CLOUD_ASR_APP_ID"`
	CloudASRSecretID   string `env:"CLOUD_ASR_SECRET_ID"`
	CloudASRSecretKey  string `env:"CLOUD_ASR_SECRET_KEY"`
	CloudASREngineType string `env:"CLOUD_ASR_ENGINE_TYPE" envDefault:"16k_zh"`

	SummaryAPIURL string `env:"FEEDBACK_SUMMARY_API_URL"`
	SummaryAPIKey string `env:"FEEDBACK_SUMMARY_API_KEY"`
	SummaryModel  string `env:"FEEDBACK_SUMMARY_MODEL"`

	// ScalarJS is the reference page's script: a file, or an https address of a
	// CDN. Empty: the one built into the program, if there is one.
	ScalarJS string `env:"SCALAR_JS"`
}

// ASRRequestTimeout bounds one request to the recogniser.
func (c Config) ASRRequestTimeout() time.Duration {
	return time.Duration(c.ASRRequestTimeoutSecs) * time.Second
}

// ASRJobLease bounds how long one worker may hold one job.
func (c Config) ASRJobLease() time.Duration { return time.Duration(c.ASRJobLeaseSecs) * time.Second }

// Drain is how long a server that was asked to stop goes on to serve.
func (c Config) Drain() time.Duration { return time.Duration(c.DrainSecs) * time.Second }

// Production tells whether this is a deployment that real people use.
func (c Config) Production() bool { return c.AppEnv == "production" }

// DevelopmentSignIn tells whether the development header is accepted.
// Production never accepts it.
func (c Config) DevelopmentSignIn() bool { return c.AllowDevelopmentUser && !c.Production() }

// MiniappConfigured tells whether codes can be exchanged.
func (c Config) MiniappConfigured() bool { return c.MiniappAppID != "" && c.MiniappAppSecret != "" }

// CloudConfigured tells whether the cloud recogniser has all it needs.
func (c Config) CloudConfigured() bool {
	return c.CloudASRAppID != "" && c.CloudASRSecretID != "" && c.CloudASRSecretKey != "" && c.CloudASREngineType != ""
}

// Logger writes to w as the configuration asks.
func (c Config) Logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// Environment returns environ ("NAME=value") over what the file (".env")
// says; a file that is not there says nothing. An empty value is as good as none.
func Environment(environ []string, file string) (map[string]string, error) {
	merged, err := godotenv.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		merged = map[string]string{}
	} else if err != nil {
		// The parser repeats the line it stumbled over, which may hold a secret.
		return nil, fmt.Errorf("%s is not a list of NAME=value lines", file)
	}
	for name, value := range env.ToMap(environ) {
		merged[name] = value
	}
	for name, value := range merged {
		if strings.TrimSpace(value) == "" {
			delete(merged, name)
		}
	}
	return merged, nil
}

// LoadConfig reads the environment and the file .env of the working directory.
func LoadConfig() (Config, error) {
	environment, err := Environment(os.Environ(), ".env")
	if err != nil {
		return Config{}, err
	}
	return ParseConfig(environment)
}

// ParseConfig understands an environment. Its error names every variable that
// cannot be understood and says what would be right, never what was there.
func ParseConfig(environment map[string]string) (Config, error) {
	var c Config
	var bad []string
	if err := env.ParseWithOptions(&c, env.Options{Environment: environment}); err != nil {
		var all env.AggregateError
		if !errors.As(err, &all) {
			return Config{}, err
		}
		for _, err := range all.Errors {
			bad = append(bad, explain(err))
		}
	}
	for _, mistake := range c.mistakes() {
		name, _, _ := strings.Cut(mistake, ":")
		if !slices.ContainsFunc(bad, func(b string) bool { return strings.HasPrefix(b, name+":") }) {
			bad = append(bad, mistake)
		}
	}
	if len(bad) > 0 {
		return Config{}, fmt.Errorf("configuration:\n  %s", strings.Join(bad, "\n  "))
	}
	return c, nil
}

// explain names the variable behind a value of the wrong type.
func explain(err error) string {
	var parse env.ParseError
	if !errors.As(err, &parse) {
		return "something cannot be understood"
	}
	name := parse.Name
	if f, ok := reflect.TypeFor[Config]().FieldByName(parse.Name); ok {
		name = f.Tag.Get("env")
	}
	want := map[reflect.Kind]string{reflect.Int: "a whole number", reflect.Int64: "a whole number", reflect.Bool: "true or false"}[parse.Type.Kind()]
	if parse.Type == reflect.TypeFor[slog.Level]() {
		want = "debug, info, warn or error"
	}
	return name + ": want " + cmp.Or(want, parse.Type.String())
}

// mistakes finds values that have the right type and make no sense.
func (c Config) mistakes() (bad []string) {
	expect := func(ok bool, name, want string) {
		if !ok {
			bad = append(bad, name+": "+want)
		}
	}
	oneOf := func(value, name string, allowed ...string) {
		expect(slices.Contains(allowed, value), name, "want "+strings.Join(allowed, " or "))
	}
	oneOf(c.AppEnv, "APP_ENV", "development", "production")
	oneOf(c.LogFormat, "LOG_FORMAT", "text", "json")
	oneOf(c.ASRProvider, "ASR_PROVIDER", "local", "cloud")
	expect(c.DatabaseURL == "" || sqldb.Check(c.DatabaseURL) == nil, "DATABASE_URL", "want a valid postgres://… address, or sqlite:PATH")
	_, port, err := net.SplitHostPort(c.HTTPAddr)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	expect(err == nil, "HTTP_ADDR", "want host:port, as in 127.0.0.1:8080 or :8080")
	httpAddress := func(value, name string) {
		expect(value == "" || isHTTP(value), name, "want an http:// or https:// address")
	}
	httpAddress(c.LocalASRURL, "LOCAL_ASR_URL")
	httpAddress(c.MiniappAPIURL, "MINIAPP_API_URL")
	httpAddress(c.SummaryAPIURL, "FEEDBACK_SUMMARY_API_URL")
	expect(!strings.HasPrefix(c.ScalarJS, "http://"), "SCALAR_JS", "want a file, or an https:// address")
	expect(c.AudioMaxBytes > 0 && c.AudioMaxBytes <= 1<<40, "AUDIO_MAX_BYTES", "want a number above 0, at most 1099511627776 (1 TiB)")
	expect(c.DrainSecs >= 0, "DRAIN_SECONDS", "want a number of seconds, or 0")
	expect(c.ASRWorkerConcurrency > 0, "ASR_WORKER_CONCURRENCY", "want a number above 0")
	expect(c.ASRRequestTimeoutSecs > 0, "ASR_REQUEST_TIMEOUT_SECONDS", "want a number above 0")
	expect(c.ASRJobLeaseSecs > c.ASRRequestTimeoutSecs, "ASR_JOB_LEASE_SECONDS",
		fmt.Sprintf("must exceed ASR_REQUEST_TIMEOUT_SECONDS (%d): a job would be given away while its request still runs", c.ASRRequestTimeoutSecs))
	expect((c.MiniappAppID == "") == (c.MiniappAppSecret == ""), "MINIAPP_APP_ID, MINIAPP_APP_SECRET", "set both or neither")
	expect(c.ASRProvider != "cloud" || c.CloudConfigured(), "CLOUD_ASR_APP_ID, CLOUD_ASR_SECRET_ID, CLOUD_ASR_SECRET_KEY", "all are needed when ASR_PROVIDER is cloud")
	if c.ASRProvider == "cloud" && c.CloudConfigured() {
		bad = append(bad, c.cloudMistakes()...)
	}
	expect(c.SummaryAPIURL == "" || c.SummaryModel != "", "FEEDBACK_SUMMARY_MODEL", "is needed with FEEDBACK_SUMMARY_API_URL")
	_, err = summary.NewChat(summary.ChatConfig{URL: "https://any.example", Model: "any", Key: c.SummaryAPIKey})
	expect(err == nil, "FEEDBACK_SUMMARY_API_KEY", "holds a space, a line end or another character that no key has")
	_, err = c.trustedProxies()
	expect(err == nil, "TRUSTED_PROXIES", "want addresses or networks (10.0.0.0/8), separated by commas")
	return bad
}

// cloudMistakes is what the cloud's client says, in the names of the variables.
func (c Config) cloudMistakes() []string {
	_, err := newRecogniser(c, slog.New(slog.DiscardHandler))
	if err == nil {
		return nil
	}
	text := strings.NewReplacer("cloud recogniser: ", "", "AppID", "CLOUD_ASR_APP_ID:", "SecretID", "CLOUD_ASR_SECRET_ID:",
		"SecretKey", "CLOUD_ASR_SECRET_KEY:", "EngineType", "CLOUD_ASR_ENGINE_TYPE:").Replace(err.Error())
	return strings.Split(text, "; ")
}

func (c Config) trustedProxies() (prefixes []netip.Prefix, err error) {
	for _, network := range c.TrustedProxies {
		network = strings.TrimSpace(network)
		p, err := netip.ParsePrefix(network)
		if err != nil {
			a, err := netip.ParseAddr(network)
			if err != nil {
				return nil, err
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		prefixes = append(prefixes, p)
	}
	return prefixes, nil
}

func isHTTP(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
