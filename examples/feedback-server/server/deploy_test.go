package server_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"lessonkit.example/examples/feedback-server/server"
)

// serverImage is the image that the Dockerfile builds.
const serverImage = "lessonkit-feedback"

// composeService is what the tests read of a service of compose.yaml.
type composeService struct {
	Image       string
	Command     []string
	Environment map[string]string
	Volumes     []string
	Ports       []string
	Deploy      struct{ Replicas int }
	Networks    map[string]struct {
		IPv4Address string `yaml:"ipv4_address"`
	}
}

// placeholders are variables that the operator sets, with an example of each.
var placeholders = map[string]string{
	"FEEDBACK_PASSWORD": "x7", "POSTGRES_PASSWORD": "x7", "MINIAPP_APP_ID": "wx1", "MINIAPP_APP_SECRET": "s",
	"AUDIO_STORAGE_URL": "s3://recordings/school?endpoint=https://s3.school.example&region=us-east-1",
	"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "LOCAL_ASR_URL": "http://recogniser:8090",
	"OPERATOR_PASSWORD": "a long password",
}

func TestComposeFile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../compose.yaml")
	require.NoError(t, err)
	var compose struct {
		Services map[string]composeService
		Volumes  map[string]any
	}
	require.NoError(t, yaml.Unmarshal(text, &compose))
	require.Equal(t, []string{"api", "db1", "db2", "db3", "etcd1", "etcd2", "etcd3", "migrate", "proxy", "worker"},
		slices.Sorted(maps.Keys(compose.Services)))
	for name, s := range compose.Services {
		requireVersion(t, s.Image)
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			if !strings.HasPrefix(from, "./") {
				require.Contains(t, compose.Volumes, from, name)
			}
		}
		if strings.HasPrefix(s.Image, serverImage) {
			requireCommand(t, s.Command)
			requireConfiguration(t, s.Environment)
		}
	}
	proxy, err := os.ReadFile("../deploy/database.cfg")
	require.NoError(t, err)
	for _, name := range []string{"db1", "db2", "db3"} {
		db := compose.Services[name]
		require.Equal(t, name, db.Environment["PATRONI_NAME"])
		require.Equal(t, db.Networks["default"].IPv4Address, db.Environment["ADDRESS"])
		require.Contains(t, string(proxy), "server "+name+" "+db.Environment["ADDRESS"]+":5432\n")
	}
	require.Equal(t, compose.Services["proxy"].Networks["default"].IPv4Address,
		compose.Services["api"].Environment["TRUSTED_PROXIES"], "no other container is believed")
	require.Equal(t, 3, compose.Services["api"].Deploy.Replicas)
	require.Equal(t, 3, compose.Services["worker"].Deploy.Replicas)

	if program, err := exec.LookPath("docker-compose"); err == nil {
		cmd := exec.CommandContext(t.Context(), program, "-f", "../compose.yaml", "config", "--quiet")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
		for name, value := range placeholders {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
}

// What Patroni itself does not check.
func TestPatroniConfiguration(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../deploy/patroni.yml")
	require.NoError(t, err)
	var config struct {
		Bootstrap struct {
			DCS struct {
				TTL          int
				LoopWait     int  `yaml:"loop_wait"`
				RetryTimeout int  `yaml:"retry_timeout"`
				Synchronous  bool `yaml:"synchronous_mode"`
				Strict       bool `yaml:"synchronous_mode_strict"`
				PostgreSQL   struct {
					Parameters struct {
						MaxConnections int `yaml:"max_connections"`
					}
				}
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &config))
	dcs := config.Bootstrap.DCS
	require.True(t, dcs.Synchronous && dcs.Strict, "a commit is on two disks before it is acknowledged")
	require.LessOrEqual(t, dcs.LoopWait+2*dcs.RetryTimeout, dcs.TTL, "else a slow etcd loses the leader")
	require.Greater(t, dcs.PostgreSQL.Parameters.MaxConnections, 2*(3+3)*16, "all processes, started twice")
}

// The proxy of compose.yaml differs from that for other machines only in where it listens and how
// it finds the servers.
func TestComposeProxy(t *testing.T) {
	t.Parallel()
	program := installedProgram(t, "haproxy")
	text, err := os.ReadFile("../deploy/haproxy.cfg")
	require.NoError(t, err)
	const bind = "bind :8443 ssl crt /tls.pem"
	require.Contains(t, string(text), bind)
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	withoutTLS := strings.Replace(string(text), bind, "bind :8443", 1)
	require.NoError(t, os.WriteFile(file, []byte(withoutTLS), 0o600))
	cmd := exec.CommandContext(t.Context(), program, "-c", "-f", file, "-f", "../deploy/database.cfg")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))

	other, err := os.ReadFile("../haproxy.cfg")
	require.NoError(t, err)
	for line := range strings.Lines(string(other)) {
		line = strings.TrimSpace(line)
		name, _, _ := strings.Cut(line, " ")
		if slices.Contains([]string{"timeout", "option", "http-response"}, name) {
			require.Contains(t, string(text), "\t"+line+"\n")
		}
	}
}

// container is what the tests read of a container of kubernetes.yaml.
type container struct {
	Name, Image string
	Args        []string
	EnvFrom     []map[string]struct{ Name string } `yaml:"envFrom"`
	Env         []struct {
		Name      string
		ValueFrom struct {
			SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
		} `yaml:"valueFrom"`
	}
	Ports []struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	ReadinessProbe *probe `yaml:"readinessProbe"`
	LivenessProbe  *probe `yaml:"livenessProbe"`
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

// manifest is what the tests read of an object of kubernetes.yaml.
type manifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Data       map[string]string
	Spec       struct {
		Selector yaml.Node
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				TerminationGracePeriodSeconds int `yaml:"terminationGracePeriodSeconds"`
				Containers                    []container
			}
		}
		Ports []struct { // of a Service
			TargetPort string `yaml:"targetPort"`
		}
	}
}

func TestKubernetesManifest(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../kubernetes.yaml")
	require.NoError(t, err)
	objects := map[string]manifest{}
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var m manifest
		err := d.Decode(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		require.NotEmpty(t, m.APIVersion)
		objects[m.Kind+" "+m.Metadata.Name] = m
	}
	configuration := objects["ConfigMap feedback"].Data
	require.NotEmpty(t, configuration)
	for _, name := range []string{"Job feedback-migrate", "Deployment feedback-api", "Deployment feedback-worker"} {
		m, found := objects[name]
		require.True(t, found, name)
		pod := m.Spec.Template.Spec
		require.Len(t, pod.Containers, 1)
		c := pod.Containers[0]
		requireVersion(t, c.Image)
		requireCommand(t, c.Args)
		environment := maps.Clone(configuration)
		for _, from := range c.EnvFrom {
			require.Contains(t, []string{"", "feedback"}, from["configMapRef"].Name)
			maps.Copy(environment, secretOf(t, string(text), from["secretRef"].Name))
		}
		for _, e := range c.Env { // the address that the operator writes
			require.Equal(t, "uri", e.ValueFrom.SecretKeyRef.Key)
			environment[e.Name] = "postgresql://feedback:x7@feedback-db-rw.default:5432/feedback"
		}
		requireConfiguration(t, environment)
		if m.Kind == "Job" {
			continue
		}
		require.Greater(t, pod.TerminationGracePeriodSeconds, 10+15, "DRAIN_SECONDS, and the requests after it")
		require.Equal(t, 8080, c.Ports[0].ContainerPort, "as in the Dockerfile")
		require.Equal(t, 9090, c.Ports[1].ContainerPort, "as in OPS_ADDR")
		require.Equal(t, "/readyz", c.ReadinessProbe.HTTPGet.Path)
		require.Equal(t, "/health", c.LivenessProbe.HTTPGet.Path)
		for _, p := range []*probe{c.ReadinessProbe, c.LivenessProbe} {
			require.Equal(t, c.Ports[0].Name, p.HTTPGet.Port)
		}
		var selector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		}
		require.NoError(t, m.Spec.Selector.Decode(&selector))
		require.Equal(t, m.Spec.Template.Metadata.Labels, selector.MatchLabels)
	}
	front := objects["Service feedback-api"]
	require.Equal(t, "http", front.Spec.Ports[0].TargetPort)
	var selector map[string]string
	require.NoError(t, front.Spec.Selector.Decode(&selector))
	require.Equal(t, objects["Deployment feedback-api"].Spec.Template.Metadata.Labels, selector)
	require.Contains(t, objects, "Cluster feedback-db")
	require.Contains(t, objects, "Gateway feedback")
	require.Contains(t, objects, "HTTPRoute feedback")
	require.Contains(t, objects, "NetworkPolicy feedback-api", "other pods could name any client in X-Forwarded-For")
}

// secretOf returns examples of the variables that the manifest's head lists for a secret.
func secretOf(t *testing.T, text, name string) map[string]string {
	t.Helper()
	variables := map[string]string{}
	if name == "" {
		return variables
	}
	list := regexp.MustCompile(`(?m)^#   ` + name + `: ([A-Z_, ]+)$`).FindStringSubmatch(text)
	require.NotNil(t, list, "the head describes the secret %s", name)
	for variable := range strings.SplitSeq(list[1], ", ") {
		require.Contains(t, placeholders, variable)
		variables[variable] = placeholders[variable]
	}
	return variables
}

func requireVersion(t *testing.T, image string) {
	t.Helper()
	require.Regexp(t, `^[a-z0-9./-]+:[0-9]+\.[0-9]`, image, "an image has a version")
}

// requireCommand checks the arguments of feedback-server.
func requireCommand(t *testing.T, args []string) {
	t.Helper()
	if len(args) == 3 {
		require.Equal(t, []string{"serve", "-role"}, args[:2])
		_, err := server.ParseRole(args[2])
		require.NoError(t, err)
		return
	}
	require.Equal(t, []string{"migrate"}, args)
}

// requireConfiguration checks that each variable exists, and that they are valid together, and with
// those of the Dockerfile.
func requireConfiguration(t *testing.T, environment map[string]string) {
	t.Helper()
	known := map[string]bool{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[server.Config]()) {
		known[field.Tag.Get("env")] = true
	}
	dockerfile, err := os.ReadFile("../Dockerfile")
	require.NoError(t, err)
	var environ []string
	for line := range strings.Lines(string(dockerfile)) {
		if list, is := strings.CutPrefix(line, "ENV "); is {
			environ = append(environ, strings.Fields(list)...)
		}
	}
	require.NotEmpty(t, environ)
	for name, value := range environment {
		require.True(t, known[name] || name == "PGCONNECT_TIMEOUT", "%s is not a variable of the server", name)
		value = regexp.MustCompile(`\$\{(\w+):\?\}`).ReplaceAllStringFunc(value, func(v string) string {
			name := strings.TrimSuffix(strings.TrimPrefix(v, "${"), ":?}")
			require.Contains(t, placeholders, name)
			return placeholders[name]
		})
		environ = append(environ, name+"="+value)
	}
	all, _, err := server.Environment(environ, filepath.Join(t.TempDir(), ".env"))
	require.NoError(t, err)
	config, err := server.ParseConfig(all)
	require.NoError(t, err)
	require.NotEmpty(t, config.AudioStorageURL)
	require.NotEmpty(t, config.DatabaseURL)
	require.Equal(t, ":9090", config.OpsAddr, "the proxy must not serve /metrics and the pages of the queue")
}
