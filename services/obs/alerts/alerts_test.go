package alerts_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"offrampbot/services/obs"
	"offrampbot/services/obs/alerts"
	"offrampbot/services/testkit"
)

var root = filepath.Join("..", "..", "..")

func TestRules_goldenFileOfDeploy(t *testing.T) {
	t.Parallel()
	got, err := alerts.Rules(alerts.All())
	require.NoError(t, err)
	testkit.Golden(t, "../../../../deploy/prometheus-rules.yaml", got)
}

func TestDashboard_goldenFileOfDeploy(t *testing.T) {
	t.Parallel()
	got, err := alerts.Dashboard(alerts.All())
	require.NoError(t, err)
	require.True(t, json.Valid(got))
	testkit.Golden(t, "../../../../deploy/grafana-dashboard.json", got)
}

func TestRules_areYAMLWithEveryAlertOnce(t *testing.T) {
	t.Parallel()
	body, err := alerts.Rules(alerts.All())
	require.NoError(t, err)
	var read struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(body, &read))
	require.Len(t, read.Groups, 1)
	require.Len(t, read.Groups[0].Rules, len(alerts.All()))
	seen := map[string]bool{}
	for i, a := range alerts.All() {
		rule := read.Groups[0].Rules[i]
		require.False(t, seen[a.Name], "%s stands there twice", a.Name)
		seen[a.Name] = true
		require.Equal(t, a.Name, rule.Alert)
		require.Equal(t, a.Expr, rule.Expr)
		require.Equal(t, string(a.Severity), rule.Labels["severity"])
		require.Equal(t, a.Summary, rule.Annotations["summary"])
		_, err := time.ParseDuration(a.For)
		require.NoError(t, err, a.Name)
		require.Equal(t, strings.Count(a.Expr, "("), strings.Count(a.Expr, ")"), "%s: brackets", a.Name)
	}
}

// Every alert has an entry in the runbook, and the entry names the alert.
func TestAlerts_standInTheRunbook(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile(filepath.Join(root, "docs", "runbook.md"))
	require.NoError(t, err)
	sections := map[string]string{}
	for _, section := range strings.Split(string(body), "\n## ")[1:] {
		heading, text, _ := strings.Cut(section, "\n")
		sections[heading] = text
	}
	for _, a := range alerts.All() {
		text, ok := sections[a.Runbook]
		require.True(t, ok, "docs/runbook.md has no section %q for %s", a.Runbook, a.Name)
		require.Contains(t, text, "`"+a.Name+"`", "the section %q does not name its alert", a.Runbook)
	}
	for _, m := range regexp.MustCompile("`(Offramp[A-Z][A-Za-z]+)`").FindAllStringSubmatch(string(body), -1) {
		found := false
		for _, a := range alerts.All() {
			found = found || a.Name == m[1]
		}
		require.True(t, found, "docs/runbook.md names %s, which is no alert", m[1])
	}
}

// fed are the methods of obs.Metrics behind each metric that an alert or a chart may use.
var fed = map[string]func(m *obs.Metrics){
	"offramp_orders":                       func(m *obs.Metrics) { m.Orders("review", 1) },
	"offramp_outbox_operations":            func(m *obs.Metrics) { m.OutboxOperations("payout", "parked", 1) },
	"offramp_inbox_oldest_waiting_seconds": func(m *obs.Metrics) { m.InboxAge(time.Second) },
	"offramp_alerts_total":                 func(m *obs.Metrics) { m.Alert("kind") },
	"offramp_provider_seconds":             func(m *obs.Metrics) { m.Provider("paystack", "call", "unknown", time.Second) },
	"offramp_deliveries_total":             func(m *obs.Metrics) { m.Delivery("whatsapp", "parked") },
	"offramp_clock_skew_seconds":           func(m *obs.Metrics) { m.ClockSkew(time.Second) },
	"offramp_panics_total":                 func(m *obs.Metrics) { m.Panic("http") },
	"offramp_guard_expired_total":          func(m *obs.Metrics) { m.Expired() },
	"offramp_http_request_seconds":         func(m *obs.Metrics) { m.Request("GET", "/webhooks/flows", 200, time.Second) },
	"offramp_duplicates_blocked_total":     func(m *obs.Metrics) { m.DuplicateBlocked("flow") },
	"offramp_build_info":                   func(*obs.Metrics) {},
	"offramp_store_seconds":                func(m *obs.Metrics) { m.Store("update", "unavailable", time.Second) },
	"offramp_redis_seconds":                func(m *obs.Metrics) { m.Redis("set", "error", time.Second) },
	"offramp_chain_height":                 func(m *obs.Metrics) { m.Chain("base", 1, 2, time.Unix(1, 0)) },

	"offramp_chain_polled_timestamp_seconds": func(m *obs.Metrics) { m.Chain("base", 1, 2, time.Unix(1, 0)) },
}

// callers find where a metric is fed outside tests and services/obs, by the method's name.
var callers = map[string]string{
	"offramp_orders": "Orders", "offramp_outbox_operations": "OutboxOperations", "offramp_inbox_oldest_waiting_seconds": "InboxAge",
	"offramp_alerts_total": "Alert", "offramp_provider_seconds": "Provider", "offramp_deliveries_total": "Delivery",
	"offramp_clock_skew_seconds": "ClockSkew", "offramp_panics_total": "Panic", "offramp_guard_expired_total": "Expired",
	"offramp_http_request_seconds": "Request", "offramp_duplicates_blocked_total": "DuplicateBlocked",
	"offramp_store_seconds": "Store", "offramp_redis_seconds": "Redis", "offramp_chain_height": "Chain",
	"offramp_chain_polled_timestamp_seconds": "Chain",
}

// An alert over a metric that nobody feeds would never fire.
func TestAlerts_areOnlyOverMetricsThatAreFed(t *testing.T) {
	t.Parallel()
	m := obs.NewMetrics("v1")
	for _, feed := range fed {
		feed(m)
	}
	families, err := m.Gatherer().Gather()
	require.NoError(t, err)
	labels := map[string]map[string]bool{} // metric → its labels
	for _, family := range families {
		labels[family.GetName()] = map[string]bool{}
		for _, metric := range family.GetMetric() {
			for _, pair := range metric.GetLabel() {
				labels[family.GetName()][pair.GetName()] = true
			}
		}
	}
	dashboard, err := alerts.Dashboard(alerts.All())
	require.NoError(t, err)
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	require.NoError(t, json.Unmarshal(dashboard, &board))
	metric := regexp.MustCompile(`offramp_[a-z_]+`)
	selector := regexp.MustCompile(`(offramp_[a-z_]+)\{([^}]*)\}`)
	matcher := regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)"`)
	for _, panel := range board.Panels {
		expr := panel.Targets[0].Expr
		for _, name := range metric.FindAllString(expr, -1) {
			name = family(name)
			require.Contains(t, labels, name, expr)
			require.Contains(t, fed, name, "%s: who feeds it?", expr)
		}
		for _, s := range selector.FindAllStringSubmatch(expr, -1) {
			for _, l := range matcher.FindAllStringSubmatch(s[2], -1) {
				require.Contains(t, labels[family(s[1])], l[1], "%s has no such label", s[1])
			}
		}
	}
}

// family is the name of a histogram's family.
func family(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count"), "_sum")
}

func TestMetrics_thatAlertsUseAreFedByTheProduct(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	for _, folder := range []string{"cmd/offrampbot", "webhooks", "services/guard", "services/inbox", "flows"} {
		names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*.go"))
		require.NoError(t, err)
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			body, err := os.ReadFile(name)
			require.NoError(t, err)
			code.Write(body)
		}
	}
	for name, method := range callers {
		require.Regexp(t, `(?i)(metrics|blocks)\.`+method+`\(`, code.String(), "nobody feeds %s", name)
	}
}
