package server

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"lessonkit.example/feedback/audios3"
	"lessonkit.example/feedback/summary"
)

// Config configures a [Server]. [ParseConfig] returns one, with the defaults that the tags name.
// The README describes the variables.
type Config struct {
	DatabaseURL        string `env:"DATABASE_URL"`         // if empty, there are no data endpoints
	MigrateDatabaseURL string `env:"MIGRATE_DATABASE_URL"` // of [Migrate]; defaults to DatabaseURL

	HTTPAddr  string     `env:"HTTP_ADDR" envDefault:"127.0.0.1:8080"`
	AppEnv    string     `env:"APP_ENV" envDefault:"development"` // or production
	LogLevel  slog.Level `env:"LOG_LEVEL" envDefault:"info"`      // or debug, warn or error
	LogFormat string     `env:"LOG_FORMAT" envDefault:"text"`     // or json

	BasePath string        `env:"BASE_PATH"` // such as /teach; a proxy may pass it on or remove it
	OpsAddr  string        `env:"OPS_ADDR"`
	Drain    time.Duration `env:"DRAIN_SECONDS"`

	TrustedProxies   []netip.Prefix `env:"TRUSTED_PROXIES"`
	OperatorPassword string         `env:"OPERATOR_PASSWORD"` // if empty, nobody is the operator

	OTLPEndpoint       string `env:"OTEL_EXPORTER_OTLP_ENDPOINT"` // /v1/traces is appended
	OTLPTracesEndpoint string `env:"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"`

	LoginsPerMinute int `env:"LOGINS_PER_MINUTE"` // of an address that may fail; defaults to 20
	LoginBurst      int `env:"LOGIN_BURST"`       // that may fail at once; defaults to 50

	MiniappAppID     string `env:"MINIAPP_APP_ID"`
	MiniappAppSecret string `env:"MINIAPP_APP_SECRET"`
	MiniappAPIURL    string `env:"MINIAPP_API_URL"` // defaults to the platform's

	// The OAuth 2 server at which teachers sign in to the page, with the names of oauth.Config.
	OAuthClientID     string `env:"OAUTH_CLIENT_ID"`
	OAuthClientSecret string `env:"OAUTH_CLIENT_SECRET"`
	OAuthAuthURL      string `env:"OAUTH_AUTH_URL"`
	OAuthTokenURL     string `env:"OAUTH_TOKEN_URL"`
	OAuthUserInfoURL  string `env:"OAUTH_USERINFO_URL"`
	OAuthRedirectURL  string `env:"OAUTH_REDIRECT_URL"`
	OAuthName         string `env:"OAUTH_NAME"` // on the button of the page; defaults to the host of OAuthAuthURL

	AllowDevelopmentUser bool     `env:"ALLOW_DEVELOPMENT_USER_HEADER"` // ignored in production
	DevelopmentHosts     []string `env:"DEVELOPMENT_HOSTS"`             // without port

	AudioStorageDir string `env:"AUDIO_STORAGE_DIR"` // defaults to lessonkit-data/audio, unless there is a URL
	AudioStorageURL string `env:"AUDIO_STORAGE_URL"`
	// The credentials of AudioStorageURL. Without them they are found as AWS clients find them.
	AWSAccessKeyID     string `env:"AWS_ACCESS_KEY_ID"`
	AWSSecretAccessKey string `env:"AWS_SECRET_ACCESS_KEY"`
	AWSSessionToken    string `env:"AWS_SESSION_TOKEN"`

	AudioMaxBytes int64 `env:"AUDIO_MAX_BYTES" envDefault:"134217728"` // 128 MiB

	AudioRetentionDays int `env:"AUDIO_RETENTION_DAYS"` // 0 means for ever

	AudioReserve int64 `env:"AUDIO_RESERVE_BYTES"` // 0: the defaults of audiodir and sqlstore, -1: none

	// Limits of one teacher in a day (UTC); 0 means the default of package feedback, -1 none.
	LimitBytes     int64 `env:"LIMIT_BYTES_PER_DAY"`
	LimitSegments  int   `env:"LIMIT_SEGMENTS_PER_DAY"`
	LimitSessions  int   `env:"LIMIT_SESSIONS_PER_DAY"`
	LimitSummaries int   `env:"LIMIT_SUMMARIES_PER_DAY"`
	LimitTextBytes int64 `env:"LIMIT_TEXT_BYTES_PER_DAY"`
	LimitTextRows  int   `env:"LIMIT_TEXT_ROWS_PER_DAY"`

	// Limits of what runs at once in this process; 0 means the default of package feedbackhttp, -1
	// none.
	LimitRequests      int `env:"LIMIT_REQUESTS"`        // of one teacher
	LimitRequestsInAll int `env:"LIMIT_REQUESTS_IN_ALL"` // of all teachers, without uploads and downloads
	LimitStreams       int `env:"LIMIT_STREAMS"`         // of events, of one teacher
	LimitStreamsInAll  int `env:"LIMIT_STREAMS_IN_ALL"`  // of events, of all teachers

	ASRProvider          string          `env:"ASR_PROVIDER" envDefault:"local"` // or cloud
	LocalASRURL          string          `env:"LOCAL_ASR_URL"`
	LocalASRModel        string          `env:"LOCAL_ASR_MODEL"`
	LocalASRAPIKey       string          `env:"LOCAL_ASR_API_KEY"`
	LocalASRConvert      *bool           `env:"LOCAL_ASR_CONVERT"` // by ffmpeg; defaults to whether there is one
	ASRRequestTimeout    time.Duration   `env:"ASR_REQUEST_TIMEOUT_SECONDS" envDefault:"1800"`
	ASRTimeoutFactor     float64         `env:"ASR_TIMEOUT_FACTOR" envDefault:"10"` // of the duration of a recording
	ASRMinTimeout        time.Duration   `env:"ASR_MIN_TIMEOUT_SECONDS" envDefault:"300"`
	ASRWorkerConcurrency int             `env:"ASR_WORKER_CONCURRENCY" envDefault:"1"`
	ASRJobLease          time.Duration   `env:"ASR_JOB_LEASE_SECONDS" envDefault:"3600"` // time limit of a job
	ASRRetryDelays       []time.Duration `env:"ASR_RETRY_SECONDS" envDefault:"60,300,1800,7200,28800"`

	CloudASRAppID      string `env:"CLOUD_ASR_APP_ID"`
	CloudASRSecretID   string `env:"CLOUD_ASR_SECRET_ID"`
	CloudASRSecretKey  string `env:"CLOUD_ASR_SECRET_KEY"`
	CloudASREngineType string `env:"CLOUD_ASR_ENGINE_TYPE" envDefault:"16k_zh"`
	CloudASRMode       string `env:"CLOUD_ASR_MODE"`    // flash (default) or task
	CloudASRAPIURL     string `env:"CLOUD_ASR_API_URL"` // of tasks; defaults to the cloud's

	SummaryAPIURL     string `env:"FEEDBACK_SUMMARY_API_URL"`
	SummaryAPIKey     string `env:"FEEDBACK_SUMMARY_API_KEY"`
	SummaryModel      string `env:"FEEDBACK_SUMMARY_MODEL"`
	SummaryPromptFile string `env:"FEEDBACK_SUMMARY_PROMPT_FILE"`

	ScalarJS string `env:"SCALAR_JS"`
}

// DevelopmentSignIn reports whether the development header is accepted. In production it never is.
func (c Config) DevelopmentSignIn() bool { return c.AllowDevelopmentUser && c.AppEnv != "production" }

// MiniappConfigured reports whether the credentials for login codes are set.
func (c Config) MiniappConfigured() bool { return c.MiniappAppID != "" && c.MiniappAppSecret != "" }

// OAuthConfigured reports whether teachers sign in at an OAuth 2 server.
func (c Config) OAuthConfigured() bool { return c.OAuthClientID != "" }

// oauthName is what the page calls the OAuth 2 server, or empty.
func (c Config) oauthName() string {
	u, err := url.Parse(c.OAuthAuthURL)
	if err != nil || !c.OAuthConfigured() {
		return ""
	}
	return cmp.Or(c.OAuthName, u.Host)
}

// Logger returns a logger that writes to w in the configured format.
func (c Config) Logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// ParseConfig returns the configuration in an environment, with defaults. Its error names every
// variable with a bad value and describes good ones. It contains no values.
func ParseConfig(environment map[string]string) (Config, error) {
	var c Config
	// First all defaults, which variables that cannot be parsed keep: they are then named once.
	err := env.ParseWithOptions(&c, env.Options{Environment: map[string]string{}, FuncMap: parsers})
	if err == nil {
		err = env.ParseWithOptions(&c, env.Options{Environment: environment, FuncMap: parsers})
	}
	var bad []string
	if all, ok := errors.AsType[env.AggregateError](err); ok {
		for _, err := range all.Errors {
			bad = append(bad, explain(err))
		}
	} else if err != nil {
		return Config{}, err
	}
	if bad = append(bad, c.mistakes()...); len(bad) > 0 {
		return Config{}, fmt.Errorf("configuration:\n  %s", strings.Join(bad, "\n  "))
	}
	return c, nil
}

// ParseMigrateConfig is ParseConfig for [Migrate]: it reads only the variables that Migrate uses.
// The others need not be valid.
func ParseMigrateConfig(environment map[string]string) (Config, error) {
	used := map[string]string{}
	for _, name := range []string{"DATABASE_URL", "MIGRATE_DATABASE_URL", "LOG_LEVEL", "LOG_FORMAT"} {
		if value, ok := environment[name]; ok {
			used[name] = value
		}
	}
	return ParseConfig(used)
}

var parsers = map[reflect.Type]env.ParserFunc{
	reflect.TypeFor[time.Duration]():   func(text string) (any, error) { return parseSeconds(text) },
	reflect.TypeFor[[]time.Duration](): list(parseSeconds),
	reflect.TypeFor[[]netip.Prefix]():  list(parseNetwork),
	reflect.TypeFor[[]string]():        list(func(text string) (string, error) { return text, nil }),
}

// list returns a parser of values that are separated by commas.
func list[T any](parse func(string) (T, error)) env.ParserFunc {
	return func(text string) (any, error) {
		var values []T
		for item := range strings.SplitSeq(text, ",") {
			value, err := parse(strings.TrimSpace(item))
			if err != nil {
				return nil, err
			}
			values = append(values, value)
		}
		return values, nil
	}
}

// mostSeconds limits durations to 31 years: a time.Duration ends at 292, and they are added.
const mostSeconds = 1_000_000_000

func parseSeconds(text string) (time.Duration, error) {
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err == nil && (seconds < -mostSeconds || seconds > mostSeconds) {
		err = strconv.ErrRange
	}
	return time.Duration(seconds) * time.Second, err
}

// parseNetwork accepts an address too, as a network of one.
func parseNetwork(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	return netip.ParsePrefix(text)
}

// explain describes a value that cannot be parsed, without the value.
func explain(err error) string {
	parse, ok := errors.AsType[env.ParseError](err)
	if !ok {
		return "a variable cannot be parsed"
	}
	field, _ := reflect.TypeFor[Config]().FieldByName(parse.Name)
	expected := map[reflect.Type]string{
		reflect.TypeFor[bool]():          "true or false",
		reflect.TypeFor[*bool]():         "true or false",
		reflect.TypeFor[float64]():       "a number, as in 2.5",
		reflect.TypeFor[time.Duration](): fmt.Sprintf("a whole number of seconds, at most %d", mostSeconds),
		reflect.TypeFor[[]time.Duration](): fmt.Sprintf(
			"whole numbers of seconds, at most %d, separated by commas", mostSeconds),
		reflect.TypeFor[slog.Level]():     "debug, info, warn or error",
		reflect.TypeFor[[]netip.Prefix](): "addresses or networks (10.0.0.0/8), separated by commas",
	}
	return field.Tag.Get("env") + ": must be " + cmp.Or(expected[parse.Type], "a whole number")
}

// mistakes describes the values that have the right type and are not valid.
func (c Config) mistakes() (bad []string) {
	must := func(ok bool, name, rule string) {
		if !ok {
			bad = append(bad, name+": "+rule)
		}
	}
	oneOf := func(value, name string, allowed ...string) {
		must(slices.Contains(allowed, value), name, "must be "+strings.Join(allowed, " or "))
	}
	httpAddress := func(value, name string) {
		must(value == "" || isHTTP(value), name, "must be an http:// or https:// address")
	}
	oneOf(c.AppEnv, "APP_ENV", "development", "production")
	oneOf(c.LogFormat, "LOG_FORMAT", "text", "json")
	oneOf(c.ASRProvider, "ASR_PROVIDER", "local", "cloud")
	database := func(address, name string) {
		rule := databaseMistake(address)
		must(address == "" || rule == "", name, rule)
	}
	database(c.DatabaseURL, "DATABASE_URL")
	database(c.MigrateDatabaseURL, "MIGRATE_DATABASE_URL")
	must(isHostPort(c.HTTPAddr), "HTTP_ADDR", "must be host:port, as in 127.0.0.1:8080 or :8080")
	must(c.OpsAddr == "" || isHostPort(c.OpsAddr) && c.OpsAddr != c.HTTPAddr, "OPS_ADDR",
		"must be host:port, other than HTTP_ADDR")
	must(c.BasePath == "" || basePath.MatchString(c.BasePath), "BASE_PATH",
		"must be a path that begins with / and does not end with it, as in /teach")
	must(c.OperatorPassword == "" || len([]rune(c.OperatorPassword)) >= minOperatorPassword, "OPERATOR_PASSWORD",
		fmt.Sprintf("must have at least %d characters", minOperatorPassword))
	httpAddress(c.LocalASRURL, "LOCAL_ASR_URL")
	httpAddress(c.CloudASRAPIURL, "CLOUD_ASR_API_URL")
	httpAddress(c.MiniappAPIURL, "MINIAPP_API_URL")
	httpAddress(c.SummaryAPIURL, "FEEDBACK_SUMMARY_API_URL")
	httpAddress(c.OTLPEndpoint, "OTEL_EXPORTER_OTLP_ENDPOINT")
	httpAddress(c.OTLPTracesEndpoint, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	encrypted := func(address, name, secret, secretName string) {
		must(secret == "" || !isHTTP(address) || isEncrypted(address), name,
			"must be an https:// address, or one of this machine, because "+secretName+" is sent to it")
	}
	encrypted(c.LocalASRURL, "LOCAL_ASR_URL", c.LocalASRAPIKey, "LOCAL_ASR_API_KEY")
	encrypted(c.CloudASRAPIURL, "CLOUD_ASR_API_URL", c.CloudASRSecretKey, "audio")
	encrypted(c.SummaryAPIURL, "FEEDBACK_SUMMARY_API_URL", c.SummaryAPIKey, "FEEDBACK_SUMMARY_API_KEY")
	encrypted(c.MiniappAPIURL, "MINIAPP_API_URL", c.MiniappAppSecret, "MINIAPP_APP_SECRET")
	must(!strings.HasPrefix(c.ScalarJS, "http://"), "SCALAR_JS", "must be a file or an https:// address")
	must(c.AudioMaxBytes > 0 && c.AudioMaxBytes <= 1<<40, "AUDIO_MAX_BYTES",
		"must be above 0 and at most 1099511627776 (1 TiB)")
	must(c.AudioStorageDir == "" || c.AudioStorageURL == "", "AUDIO_STORAGE_DIR, AUDIO_STORAGE_URL",
		"must not both be set: recordings are in a directory or in a bucket")
	must((c.AWSAccessKeyID == "") == (c.AWSSecretAccessKey == ""), "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY",
		"must both be set or both be empty")
	if c.AudioStorageURL != "" {
		if _, err := audios3.New(audios3.Config{URL: c.AudioStorageURL}); err != nil {
			must(false, "AUDIO_STORAGE_URL", strings.TrimPrefix(err.Error(), "audios3: the address "))
		}
		must(c.AudioMaxBytes <= 5<<30, "AUDIO_MAX_BYTES",
			"must be at most 5368709120 (5 GiB) with AUDIO_STORAGE_URL, the limit of S3 for one upload")
	}
	must(c.AudioRetentionDays >= 0 && c.AudioRetentionDays <= 36_500, "AUDIO_RETENTION_DAYS",
		"must be from 0 (for ever) to 36500")
	must(c.Drain >= 0, "DRAIN_SECONDS", "must not be negative")
	must(c.ASRWorkerConcurrency > 0, "ASR_WORKER_CONCURRENCY", "must be above 0")
	must(c.ASRRequestTimeout > 0, "ASR_REQUEST_TIMEOUT_SECONDS", "must be above 0")
	must(c.ASRTimeoutFactor > 0, "ASR_TIMEOUT_FACTOR", "must be above 0")
	must(c.ASRMinTimeout > 0, "ASR_MIN_TIMEOUT_SECONDS", "must be above 0")
	must(!slices.ContainsFunc(c.ASRRetryDelays, func(d time.Duration) bool { return d <= 0 }), "ASR_RETRY_SECONDS",
		"must all be above 0")
	must(c.ASRJobLease > c.ASRRequestTimeout, "ASR_JOB_LEASE_SECONDS",
		fmt.Sprintf("must exceed ASR_REQUEST_TIMEOUT_SECONDS (%.0f), so that a job outlasts its request",
			c.ASRRequestTimeout.Seconds()))
	must((c.MiniappAppID == "") == (c.MiniappAppSecret == ""), "MINIAPP_APP_ID, MINIAPP_APP_SECRET",
		"must both be set or both be empty")
	bad = append(bad, c.oauthMistakes()...)
	if c.DevelopmentSignIn() && len(c.DevelopmentHosts) == 0 {
		must(isLoopback(c.HTTPAddr), "ALLOW_DEVELOPMENT_USER_HEADER",
			"must not be true while other machines can reach HTTP_ADDR; if everybody who reaches the server may "+
				"sign in as anybody, set DEVELOPMENT_HOSTS")
	}
	for _, host := range c.DevelopmentHosts {
		must(isHost(host), "DEVELOPMENT_HOSTS", "must be host names or addresses without port, separated by commas")
	}
	if c.ASRProvider == "cloud" {
		bad = append(bad, c.cloudMistakes()...)
	}
	must(c.SummaryAPIURL == "" || c.SummaryModel != "", "FEEDBACK_SUMMARY_MODEL",
		"must be set with FEEDBACK_SUMMARY_API_URL")
	must(c.SummaryPromptFile == "" || c.SummaryAPIURL != "", "FEEDBACK_SUMMARY_PROMPT_FILE",
		"is for a model: set FEEDBACK_SUMMARY_API_URL too")
	_, err := summary.NewChat(summary.ChatConfig{URL: "https://any.example", Model: "any", APIKey: c.SummaryAPIKey})
	must(err == nil, "FEEDBACK_SUMMARY_API_KEY", "must not contain spaces, line ends or control characters")
	return bad
}

// callbackPath is where the OAuth 2 server leads back to.
const callbackPath = "/api/v1/auth/oauth/callback"

func (c Config) oauthMistakes() (bad []string) {
	values := [][2]string{
		{"OAUTH_CLIENT_ID", c.OAuthClientID}, {"OAUTH_CLIENT_SECRET", c.OAuthClientSecret},
		{"OAUTH_AUTH_URL", c.OAuthAuthURL}, {"OAUTH_TOKEN_URL", c.OAuthTokenURL},
		{"OAUTH_USERINFO_URL", c.OAuthUserInfoURL}, {"OAUTH_REDIRECT_URL", c.OAuthRedirectURL},
	}
	if !slices.ContainsFunc(values, func(v [2]string) bool { return v[1] != "" }) {
		return nil
	}
	for i, v := range values {
		switch {
		case v[1] == "":
			bad = append(bad, v[0]+": must be set like the others of OAUTH_")
		case i >= 2 && (!isHTTP(v[1]) || !isEncrypted(v[1])):
			bad = append(bad, v[0]+": must be an https:// address, or one of this machine")
		}
	}
	if c.OAuthRedirectURL != "" && !strings.HasSuffix(c.OAuthRedirectURL, c.BasePath+callbackPath) {
		bad = append(bad, "OAUTH_REDIRECT_URL: must end with "+c.BasePath+callbackPath)
	}
	if c.MiniappConfigured() {
		bad = append(bad, "OAUTH_CLIENT_ID, MINIAPP_APP_ID: must not both be set: a teacher would have two accounts")
	}
	return bad
}

const minOperatorPassword = 12

// basePath matches paths that mean the same in an address, in a link and in an OpenAPI document.
var basePath = regexp.MustCompile(`^(/[A-Za-z0-9_-]+)+$`)

// cloudMistakes returns the errors of the cloud recognizer with the names of the variables.
func (c Config) cloudMistakes() []string {
	if c.CloudASRAppID == "" || c.CloudASRSecretID == "" || c.CloudASRSecretKey == "" {
		const names = "CLOUD_ASR_APP_ID, CLOUD_ASR_SECRET_ID, CLOUD_ASR_SECRET_KEY"
		return []string{names + ": must be set if ASR_PROVIDER is cloud"}
	}
	_, err := newRecognizer(c, nil, slog.New(slog.DiscardHandler))
	if err == nil {
		return nil
	}
	_, text, _ := strings.Cut(err.Error(), ": ")
	names := strings.NewReplacer("AppID", "CLOUD_ASR_APP_ID:", "SecretID", "CLOUD_ASR_SECRET_ID:",
		"SecretKey", "CLOUD_ASR_SECRET_KEY:", "EngineType", "CLOUD_ASR_ENGINE_TYPE:", "Mode is", "CLOUD_ASR_MODE: is")
	return strings.Split(names.Replace(text), "; ")
}

func isHTTP(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// isEncrypted reports whether nobody between this process and an address can read what is sent.
func isEncrypted(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || isLoopbackHost(u.Hostname()))
}

func isHostPort(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	_, err = net.LookupPort("tcp", port)
	return err == nil
}

// isLoopback reports whether only this machine can reach a host:port.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && isLoopbackHost(host)
}

func isLoopbackHost(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.IsLoopback()
}

// isHost reports whether text is a host name or an IP address, without port.
func isHost(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil || text != "" && !strings.ContainsAny(text, ":/@[] ")
}
