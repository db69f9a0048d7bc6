// Package alerts is the one list of what wakes an operator. Prometheus' rules and Grafana's dashboard in deploy/ are
// generated from it, and docs/runbook.md has an entry for each alert; a test compares all three. It names only metrics
// that a process of this release really feeds.
package alerts

// Severity says how soon a person must look.
type Severity string

// The severities.
const (
	Page   Severity = "page"   // now: money waits, or nobody is served
	Ticket Severity = "ticket" // within the day
)

// Alert is one rule.
type Alert struct {
	Name     string   // as Prometheus shows it
	Expr     string   // PromQL; it holds while something is wrong
	For      string   // how long it must hold, a Prometheus duration
	Severity Severity // who is told
	Summary  string   // one sentence for the person who is woken
	Runbook  string   // heading of the entry in docs/runbook.md
}

// All lists every alert, the most urgent ones first. Every process measures the shared store, so gauges of it are the
// same from each, and their maximum counts.
func All() []Alert {
	return append(append(money(), work()...), edges()...)
}

// money is what concerns orders, deposits and payouts.
func money() []Alert {
	return []Alert{
		{
			"OfframpOrderInReview", `max(offramp_orders{state="review"}) > 0`, "1m", Page,
			"An order waits for two people.", "An order in review",
		},
		{
			"OfframpOrderUnclear", `max(offramp_orders{state="unclear"}) > 0`, "15m", Page,
			"Nobody knows yet what became of a payout or an exchange.", "An unclear payout",
		},
		{
			"OfframpOrderStuckInExchange", `min_over_time(max(offramp_orders{state="exchange"})[30m:1m]) > 0`, "0m", Page,
			"For half an hour there has been an order whose exchange does not end.", "A stuck order",
		},
		{
			"OfframpAlertRaised",
			// A series that has just appeared has no increase yet, so it counts too.
			`sum by (kind) (increase(offramp_alerts_total{kind!="clock_skew"}[10m])) > 0` +
				` or (sum by (kind) (offramp_alerts_total{kind!="clock_skew"}) unless sum by (kind) (offramp_alerts_total offset 10m))`,
			"0m", Page, "The bot has raised an alert; the audit trail says about what.", "An alert of the bot itself",
		},
		{
			"OfframpProviderUnknown",
			`sum by (provider) (rate(offramp_provider_seconds_count{outcome="unknown"}[10m]))` +
				` / sum by (provider) (rate(offramp_provider_seconds_count[10m])) > 0.2`,
			"10m", Page, "A fifth of the answers of a provider or venue say nothing certain.", "A provider is down",
		},
		{
			"OfframpProviderNotNow",
			`sum by (provider) (rate(offramp_provider_seconds_count{outcome="not_now"}[10m]))` +
				` / sum by (provider) (rate(offramp_provider_seconds_count[10m])) > 0.5`,
			"10m", Page, "A provider takes no payouts: too many, switched off, or the float is empty.", "The float is empty",
		},
		{
			"OfframpDeliveryConflict", `sum by (source) (increase(offramp_deliveries_total{outcome="conflict"}[1h])) > 0`, "0m", Page,
			"Something came under a known id with other contents.", "Parked items",
		},
	}
}

// work is what concerns queues and processes.
func work() []Alert {
	return []Alert{
		{
			"OfframpAbsent", `absent(offramp_build_info)`, "2m", Page,
			"No process of the bot answers Prometheus.", "No process answers",
		},
		{
			"OfframpInboxOld", `max(offramp_inbox_oldest_waiting_seconds) > 60`, "2m", Page,
			"What arrived is not worked on.", "Receipts or operations pile up",
		},
		{
			"OfframpOperationsPiling", `max by (kind) (offramp_outbox_operations{state="pending",kind!="look-up"}) > 200`, "10m", Page,
			"Operations are recorded faster than they are carried out.", "Receipts or operations pile up",
		},
		{
			"OfframpOperationsParked", `max by (kind) (offramp_outbox_operations{state="parked"}) > 0`, "5m", Ticket,
			"An operation was given up and waits for a person.", "Parked items",
		},
		{
			"OfframpDeliveryParked", `sum by (source) (increase(offramp_deliveries_total{outcome="parked"}[30m])) > 0`, "0m", Ticket,
			"A delivery could not be handled and waits for a person.", "Parked items",
		},
		{
			"OfframpClockSkew", `max(offramp_clock_skew_seconds) > 2`, "1m", Page,
			"A clock is wrong; from ten seconds on that process takes no traffic.", "A clock is wrong",
		},
		{
			"OfframpPanic", `sum by (where) (increase(offramp_panics_total[30m])) > 0`, "0m", Ticket,
			"A request ended in a panic that was caught.", "A panic",
		},
		{
			"OfframpMemory", `max(process_resident_memory_bytes{job=~".*offrampbot.*"}) > 330e6`, "15m", Ticket,
			"A process uses more memory than it should.", "A process needs too much memory",
		},
		{
			"OfframpClaimsExpired", `sum(increase(offramp_guard_expired_total[1h])) > 0`, "0m", Ticket,
			"A claim in Redis ran out under an open order: Redis was lost, or a process stood still.", "Redis is lost",
		},
	}
}

// edges is what concerns requests from outside.
func edges() []Alert {
	return []Alert{
		{
			"OfframpChainNotRead", `time() - max by (chain) (offramp_chain_polled_timestamp_seconds) > 180`, "0m", Page,
			"No process has read a chain for three minutes: its deposits are not seen.", "A chain stalls or reorganises",
		},
		{
			"OfframpChainStands", `delta(max by (chain) (offramp_chain_height)[15m:1m]) == 0`, "0m", Page,
			"A chain, or every node of it that we ask, has made no block for a quarter of an hour.", "A chain stalls or reorganises",
		},
		{
			"OfframpStoreFails",
			`sum(rate(offramp_store_seconds_count{outcome=~"unavailable|unknown"}[5m])) / sum(rate(offramp_store_seconds_count[5m])) > 0.02`,
			"2m", Page, "MongoDB does not answer, or does not say what became of a commit.", "MongoDB is lost",
		},
		{
			"OfframpRedisFails",
			`sum(rate(offramp_redis_seconds_count{outcome="error"}[5m])) / sum(rate(offramp_redis_seconds_count[5m])) > 0.1`,
			"5m", Ticket, "Redis does not answer; sales go on without it.", "Redis is lost",
		},
		{
			"OfframpServerErrors",
			`sum(rate(offramp_http_request_seconds_count{status=~"5.."}[5m])) / sum(rate(offramp_http_request_seconds_count[5m])) > 0.05`,
			"5m", Page, "One request in twenty fails; WhatsApp sends webhooks again for seven days.", "MongoDB is lost",
		},
		{
			"OfframpSignatureRefused",
			`sum by (route) (rate(offramp_http_request_seconds_count{route=~"/webhooks/.*",status=~"401|432"}[10m])) > 0.05`,
			"10m", Page, "Webhooks are refused for their signature: a secret was changed on one side, or somebody tries.",
			"Signatures are refused",
		},
		{
			"OfframpFlowSlow",
			`histogram_quantile(0.9, sum by (le) (rate(offramp_http_request_seconds_bucket{route="/webhooks/flows"}[10m]))) > 1`,
			"10m", Page, "Forms answer slowly; WhatsApp throttles a Flow whose 90th percentile is above a second.", "Forms are slow or blocked",
		},
		{
			"OfframpManyDuplicates", `sum(increase(offramp_duplicates_blocked_total[15m])) > 50`, "0m", Ticket,
			"Many confirmations of the same sale were blocked: somebody attacks, or people do not see an answer.", "Many blocked duplicates",
		},
	}
}
