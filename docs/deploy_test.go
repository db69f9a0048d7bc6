package docs_test

import (
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// manifests are the files that run the product somewhere.
func manifests(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, name := range files(t, ".yaml", ".yml") {
		if name == "compose.yaml" || strings.HasPrefix(name, "deploy/") {
			out = append(out, name)
		}
	}
	require.Contains(t, out, "compose.yaml")
	require.Contains(t, out, "deploy/kubernetes/deployment.yaml")
	return out
}

// parse reads every document of a YAML file.
func parse(t *testing.T, name string) []map[string]any {
	t.Helper()
	var out []map[string]any
	decoder := yaml.NewDecoder(strings.NewReader(read(t, name)))
	for {
		var one map[string]any
		err := decoder.Decode(&one)
		if errors.Is(err, io.EOF) {
			require.NotEmpty(t, out, name)
			return out
		}
		require.NoError(t, err, name)
		out = append(out, one)
	}
}

// walk calls visit for every mapping below a value.
func walk(value any, visit func(map[string]any)) {
	switch v := value.(type) {
	case map[string]any:
		visit(v)
		for _, below := range v {
			walk(below, visit)
		}
	case []any:
		for _, below := range v {
			walk(below, visit)
		}
	}
}

// environment is every variable that a manifest sets, with its value where one stands there.
func environment(t *testing.T, name string) map[string]string {
	t.Helper()
	out := map[string]string{}
	take := func(variable, value any) {
		text, _ := value.(string)
		out[variable.(string)] = text //nolint:forcetypeassert // a name is a text, or the manifest is wrong
	}
	for _, document := range parse(t, name) {
		walk(document, func(m map[string]any) {
			if env, ok := m["env"].([]any); ok { // a container
				for _, entry := range env {
					pair, ok := entry.(map[string]any)
					require.True(t, ok, name)
					take(pair["name"], pair["value"])
				}
			}
			if env, ok := m["environment"].(map[string]any); ok { // a service of compose
				for variable, value := range env {
					take(variable, value)
				}
			}
		})
		if document["kind"] == "ConfigMap" {
			data, ok := document["data"].(map[string]any)
			require.True(t, ok, name)
			for variable, value := range data {
				take(variable, value)
			}
		}
	}
	return out
}

// configured is what docs/config.md, which is generated, says of each variable.
func configured(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Z0-9_<>]+)` \\|(.*)\\|$").FindAllStringSubmatch(read(t, "docs/config.md"), -1) {
		out[m[1]] = m[2]
	}
	require.Greater(t, len(out), 40)
	return out
}

var chainURLs = regexp.MustCompile(`^CHAIN_[A-Z0-9_]+_RPC_URLS$`)

func TestManifests_setOnlyNamesOfTheConfiguration(t *testing.T) {
	t.Parallel()
	known := configured(t)
	set := 0
	for _, name := range manifests(t) {
		for variable := range environment(t, name) {
			set++
			if variable == "GOMEMLIMIT" { // of Go's runtime
				continue
			}
			plain, isFile := strings.CutSuffix(variable, "_FILE")
			if _, ok := known[variable]; ok { // SCREENING_FILE, REGISTRY_FILE
				plain, isFile = variable, false
			}
			if chainURLs.MatchString(plain) {
				plain = "CHAIN_<NAME>_RPC_URLS"
			}
			about, ok := known[plain]
			require.True(t, ok, "%s sets %s, which docs/config.md does not have", name, variable)
			if isFile {
				require.Contains(t, about, "Secret.", "%s: only secrets may come as files", variable)
			}
		}
	}
	require.Greater(t, set, 30)
}

func TestManifests_giveEverySecretAsAFileAndEveryRequiredName(t *testing.T) {
	t.Parallel()
	config := environment(t, "deploy/kubernetes/config.yaml")
	for _, name := range []string{"deploy/kubernetes/deployment.yaml", "deploy/kubernetes/migrate.yaml"} {
		env := environment(t, name)
		for variable, about := range configured(t) {
			if _, plain := env[variable]; plain && strings.Contains(about, "Secret.") {
				require.Fail(t, "a secret stands in a manifest", "%s: %s", name, variable)
			}
			if !strings.Contains(about, "**required**") {
				continue
			}
			_, asFile := env[variable+"_FILE"]
			_, inConfig := config[variable]
			require.True(t, asFile || inConfig, "%s does not set %s", name, variable)
		}
	}
}

func TestManifests_lockTheContainersDown(t *testing.T) {
	t.Parallel()
	found := 0
	for _, name := range manifests(t) {
		for _, document := range parse(t, name) {
			walk(document, func(m map[string]any) {
				containers, ok := m["containers"].([]any)
				if !ok {
					return
				}
				require.Equal(t, false, m["automountServiceAccountToken"], name)
				require.Equal(t, false, m["enableServiceLinks"], name)
				pod, ok := m["securityContext"].(map[string]any)
				require.True(t, ok, name)
				require.Equal(t, true, pod["runAsNonRoot"], name)
				for _, c := range containers {
					found++
					container, ok := c.(map[string]any)
					require.True(t, ok, name)
					require.Contains(t, container, "resources", name)
					require.Equal(t, map[string]any{
						"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
						"capabilities": map[string]any{"drop": []any{"ALL"}},
					}, container["securityContext"], name)
				}
			})
		}
	}
	require.Equal(t, 2, found)
	compose := parse(t, "compose.yaml")[0]["services"].(map[string]any) //nolint:forcetypeassert // see above
	for name, s := range compose {
		service, ok := s.(map[string]any)
		require.True(t, ok, name)
		if image, _ := service["image"].(string); strings.HasPrefix(image, "offrampbot:") {
			require.Equal(t, true, service["read_only"], name)
			require.Equal(t, []any{"ALL"}, service["cap_drop"], name)
		}
	}
}

// A name that was renamed would leave an operator with a process that does not start.
func TestGuides_nameOnlyVariablesThatExist(t *testing.T) {
	t.Parallel()
	known := configured(t)
	ours := regexp.MustCompile("\\b(?:ADMIN|APP|CHAIN|DEPOSIT|FIELD|FLOW|GUARD|INTERNAL|LOOKUP|METRICS|MONGO|ORDER|OUTBOX|PAYSTACK|PENDING|PIN|" +
		"PROVIDER|QUOTE|REDIS|REGISTRY|SCREENING|STORE|TREASURY|VISIBILITY|WALLET|WHATSAPP)_[A-Z0-9_<>]*[A-Z0-9]\\b")
	found := 0
	for _, page := range []string{"README.md", "docs/install.md", "docs/runbook.md", "docs/security.md", "docs/gaps.md"} {
		for _, name := range ours.FindAllString(read(t, page), -1) {
			plain := strings.TrimSuffix(strings.TrimSuffix(name, "_FILE"), "_PREVIOUS")
			if chainURLs.MatchString(plain) || name == "MONGO_TEST_COMMANDS" { // of compose.yaml
				continue
			}
			found++
			_, ok := known[name]
			_, withoutSuffix := known[plain]
			require.True(t, ok || withoutSuffix, "%s names %s, which docs/config.md does not have", page, name)
		}
	}
	require.Greater(t, found, 30)
}

// A tag that moves would run something else tomorrow.
func TestImages_areNamedByAnExactVersion(t *testing.T) {
	t.Parallel()
	exact := regexp.MustCompile(`:v?\d+\.\d+\.\d+(-[a-z0-9]+)?$`)
	for _, m := range regexp.MustCompile(`(?m)^\s+image: (\S+)$`).FindAllStringSubmatch(read(t, "compose.yaml"), -1) {
		if !strings.HasPrefix(m[1], "offrampbot:") {
			require.Regexp(t, exact, m[1])
		}
	}
	from := regexp.MustCompile(`(?m)^FROM golang:(\d+\.\d+\.\d+)-`).FindStringSubmatch(read(t, "Dockerfile"))
	require.NotNil(t, from)
	require.Contains(t, read(t, "go.mod"), "toolchain go"+from[1]+"\n", "the image is built with the toolchain of go.mod")
}
