package alerts

// chart is one panel of the dashboard that no alert stands for: what is normal should be seen as well.
type chart struct {
	title  string
	expr   string
	legend string
	unit   string
}

func charts() []chart {
	return []chart{
		{"Orders by state", `max by (state) (offramp_orders)`, "{{state}}", "short"},
		{"Orders that are not final", `sum(max by (state) (offramp_orders{state!~"success|failed|returned|cancelled"}))`, "open", "short"},
		{"Oldest waiting receipt", `max(offramp_inbox_oldest_waiting_seconds)`, "age", "s"},
		{"Operations that are not done", `max by (kind, state) (offramp_outbox_operations)`, "{{kind}} {{state}}", "short"},
		{"Deliveries a second", `sum by (source, outcome) (rate(offramp_deliveries_total[5m]))`, "{{source}} {{outcome}}", "ops"},
		{"Answers of providers a second", `sum by (provider, outcome) (rate(offramp_provider_seconds_count[5m]))`, "{{provider}} {{outcome}}", "ops"},
		{"Requests a second", `sum by (route, status) (rate(offramp_http_request_seconds_count[5m]))`, "{{route}} {{status}}", "reqps"},
		{
			"Requests, 90th percentile", `histogram_quantile(0.9, sum by (le, route) (rate(offramp_http_request_seconds_bucket[5m])))`,
			"{{route}}", "s",
		},
		{"Alerts in an hour", `sum by (kind) (increase(offramp_alerts_total[1h]))`, "{{kind}}", "short"},
		{"Blocked duplicates in an hour", `sum by (channel) (increase(offramp_duplicates_blocked_total[1h]))`, "{{channel}}", "short"},
		{"Clock differs from the store's", `max by (instance) (offramp_clock_skew_seconds)`, "{{instance}}", "s"},
		{"Memory", `process_resident_memory_bytes{job=~".*offrampbot.*"}`, "{{instance}}", "bytes"},
		{"Versions", `count by (version) (offramp_build_info)`, "{{version}}", "short"},
	}
}

// The grid of a dashboard is 24 wide.
const (
	chartWidth, chartHeight = 12, 7
	stateWidth, stateHeight = 6, 3
	gridWidth               = 24
)

// Dashboard is the list as a dashboard of Grafana: a lamp for each alert, then charts of what is normal.
func Dashboard(all []Alert) ([]byte, error) {
	var panels []map[string]any
	place := func(width, height, top, n int) map[string]int {
		perRow := gridWidth / width
		return map[string]int{"w": width, "h": height, "x": n % perRow * width, "y": top + n/perRow*height}
	}
	for i, a := range all {
		panels = append(panels, map[string]any{
			"id": len(panels) + 1, "type": "stat", "title": a.Name, "description": a.Summary + " " + book + Anchor(a.Runbook),
			"datasource": datasource(), "gridPos": place(stateWidth, stateHeight, 0, i),
			"targets": []any{target(`count(`+a.Expr+`) or vector(0)`, "")},
			"fieldConfig": map[string]any{"defaults": map[string]any{"thresholds": map[string]any{
				"mode": "absolute", "steps": []any{step("green", nil), step("red", 1)},
			}}},
		})
	}
	top := (len(all) + gridWidth/stateWidth - 1) / (gridWidth / stateWidth) * stateHeight
	for i, c := range charts() {
		panels = append(panels, map[string]any{
			"id": len(panels) + 1, "type": "timeseries", "title": c.title, "datasource": datasource(),
			"gridPos": place(chartWidth, chartHeight, top, i), "targets": []any{target(c.expr, c.legend)},
			"fieldConfig": map[string]any{"defaults": map[string]any{"unit": c.unit}},
		})
	}
	return encode(map[string]any{
		"title": "offrampbot", "uid": "offrampbot", "description": generated, "schemaVersion": 39, "editable": false,
		"time": map[string]string{"from": "now-6h", "to": "now"}, "refresh": "30s", "tags": []string{"offrampbot"},
		"templating": map[string]any{"list": []any{map[string]string{"name": "source", "type": "datasource", "query": "prometheus"}}},
		"panels":     panels,
	}, "  ")
}

func datasource() map[string]string {
	return map[string]string{"type": "prometheus", "uid": "${source}"}
}

func target(expr, legend string) map[string]string {
	return map[string]string{"refId": "A", "expr": expr, "legendFormat": legend}
}

func step(color string, value any) map[string]any {
	return map[string]any{"color": color, "value": value}
}
