package obs

import (
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is the product's collector set on a registry of its own. Labels are bounded: a value that is not a short
// plain word, or comes after too many others, counts as "other". Methods are safe for many goroutines.
type Metrics struct {
	registry *prometheus.Registry
	bounds   bounds

	duplicates       *prometheus.CounterVec
	duplicateGap     prometheus.Observer
	guardExpired     prometheus.Counter
	cleanups         prometheus.Counter
	alerts           *prometheus.CounterVec
	deliveries       *prometheus.CounterVec
	inboxAge         prometheus.Gauge
	inboxReceipts    *prometheus.GaugeVec
	outboxOperations *prometheus.GaugeVec
	orders           *prometheus.GaugeVec
	steps            *prometheus.CounterVec
	stepSeconds      *prometheus.HistogramVec
	panics           *prometheus.CounterVec
	httpSeconds      *prometheus.HistogramVec
	storeSeconds     *prometheus.HistogramVec
	redisSeconds     *prometheus.HistogramVec
	providerSeconds  *prometheus.HistogramVec
	chainHeight      *prometheus.GaugeVec
	chainLag         *prometheus.GaugeVec
	chainPolled      *prometheus.GaugeVec
	clockSkew        prometheus.Gauge
}

// NewMetrics registers every metric. The version is shown by offramp_build_info.
func NewMetrics(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), bounds: bounds{seen: map[string]map[string]bool{}}}
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m.registerGuard()
	m.registerWork()
	m.registerCalls()
	m.registerChains()
	m.gauge("offramp_build_info", "Version of the running binary; always 1.", "version").
		WithLabelValues(version).Set(1)
	return m
}

// Handler serves the metrics in Prometheus' text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Gatherer gives access to the collected values, for tests and the canary search.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

func (m *Metrics) registerGuard() {
	m.duplicates = m.counter("offramp_duplicates_blocked_total",
		"Confirmations refused because the same sale is in progress or completed (R72).", "channel")
	m.duplicateGap = m.histogram("offramp_duplicate_interval_seconds",
		"Time between a confirmation and its blocked duplicate (R73).",
		[]float64{.05, .25, 1, 5, 15, 60, 300, 600}).WithLabelValues()
	m.guardExpired = m.counter("offramp_guard_expired_total",
		"Claims found past their deadline, counted from durable intents: a sign of crashes (R74, W11).").WithLabelValues()
	m.cleanups = m.counter("offramp_cleanup_total",
		"Failed sales whose claim was cleaned up (R75).").WithLabelValues()
	m.alerts = m.counter("offramp_alerts_total", "Alerts raised for an operator.", "kind")
}

func (m *Metrics) registerWork() {
	m.deliveries = m.counter("offramp_deliveries_total", "Deliveries from outside.", "source", "outcome")
	m.inboxAge = m.gauge("offramp_inbox_oldest_waiting_seconds", "Age of the oldest receipt that waits.").WithLabelValues()
	m.inboxReceipts = m.gauge("offramp_inbox_receipts", "Receipts by state.", "state")
	m.outboxOperations = m.gauge("offramp_outbox_operations", "Operations by kind and state.", "kind", "state")
	m.orders = m.gauge("offramp_orders", "Orders by state.", "state")
	m.steps = m.counter("offramp_worker_steps_total", "Steps of workers by result: worked, idle or error.", "worker", "result")
	m.stepSeconds = m.histogram("offramp_worker_step_seconds", "Duration of steps that did work.", latency, "worker")
	m.panics = m.counter("offramp_panics_total", "Panics that were caught.", "where")
	m.clockSkew = m.gauge("offramp_clock_skew_seconds", "Our clock minus the store's.").WithLabelValues()
}

func (m *Metrics) registerCalls() {
	m.httpSeconds = m.histogram("offramp_http_request_seconds", "Requests served.", latency, "method", "route", "status")
	m.storeSeconds = m.histogram("offramp_store_seconds", "Calls to the store.", latency, "operation", "outcome")
	m.redisSeconds = m.histogram("offramp_redis_seconds", "Calls to Redis.", latency, "operation", "outcome")
	m.providerSeconds = m.histogram("offramp_provider_seconds", "Calls to venues and providers by ending.",
		[]float64{.1, .25, .5, 1, 2.5, 5, 10, 15, 30}, "provider", "operation", "outcome")
}

func (m *Metrics) registerChains() {
	m.chainHeight = m.gauge("offramp_chain_height", "Height last processed.", "chain")
	m.chainLag = m.gauge("offramp_chain_lag_blocks", "Blocks between the head and the height last processed.", "chain")
	m.chainPolled = m.gauge("offramp_chain_polled_timestamp_seconds", "When a poll last succeeded, Unix time.", "chain")
}

// latency is the bucket set of everything that should take milliseconds.
var latency = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(v)
	return v
}

// DuplicateBlocked counts a refused confirmation; channel is "flow" or "pin".
func (m *Metrics) DuplicateBlocked(channel string) {
	m.duplicates.WithLabelValues(m.bounds.of("channel", channel)).Inc()
}

// DuplicateInterval records the time between a confirmation and its duplicate.
func (m *Metrics) DuplicateInterval(d time.Duration) { m.duplicateGap.Observe(max(d, 0).Seconds()) }

// Expired counts a claim past its deadline.
func (m *Metrics) Expired() { m.guardExpired.Inc() }

// Cleanup counts a failed sale whose claim was cleaned up.
func (m *Metrics) Cleanup() { m.cleanups.Inc() }

// Alert counts an alert.
func (m *Metrics) Alert(kind string) { m.alerts.WithLabelValues(m.bounds.of("kind", kind)).Inc() }

// Delivery counts a delivery; outcome is "new", "duplicate", "parked", "conflict", "refused", or how an
// event was applied.
func (m *Metrics) Delivery(source, outcome string) {
	m.deliveries.WithLabelValues(m.bounds.of("source", source), m.bounds.of("outcome", outcome)).Inc()
}

// DeliveryConflict counts a delivery whose id is known with another fingerprint (R18).
func (m *Metrics) DeliveryConflict(source string) { m.Delivery(source, "conflict") }

// DeliveryParked counts a receipt that a worker set aside.
func (m *Metrics) DeliveryParked(source string) { m.Delivery(source, "parked") }

// InboxAge sets the age of the oldest waiting receipt; zero when none waits.
func (m *Metrics) InboxAge(age time.Duration) { m.inboxAge.Set(max(age, 0).Seconds()) }

// InboxReceipts sets how many receipts are in a state.
func (m *Metrics) InboxReceipts(state string, n int) {
	m.inboxReceipts.WithLabelValues(m.bounds.of("receipt", state)).Set(float64(n))
}

// OutboxOperations sets how many operations of a kind are in a state.
func (m *Metrics) OutboxOperations(kind, state string, n int) {
	m.outboxOperations.WithLabelValues(m.bounds.of("operation", kind), m.bounds.of("operation_state", state)).Set(float64(n))
}

// Orders sets how many orders are in a state.
func (m *Metrics) Orders(state string, n int) {
	m.orders.WithLabelValues(m.bounds.of("order", state)).Set(float64(n))
}

// Step records one step of a worker.
func (m *Metrics) Step(worker string, worked bool, err error, took time.Duration) {
	worker = m.bounds.of("worker", worker)
	switch {
	case err != nil:
		m.steps.WithLabelValues(worker, "error").Inc()
	case worked:
		m.steps.WithLabelValues(worker, "worked").Inc()
		m.stepSeconds.WithLabelValues(worker).Observe(took.Seconds())
	default:
		m.steps.WithLabelValues(worker, "idle").Inc()
	}
}

// Panic counts a caught panic.
func (m *Metrics) Panic(where string) { m.panics.WithLabelValues(m.bounds.of("where", where)).Inc() }

// ClockSkew sets the difference between our clock and the store's.
func (m *Metrics) ClockSkew(d time.Duration) { m.clockSkew.Set(d.Seconds()) }

// Request records one HTTP request; route is the pattern, never the path.
func (m *Metrics) Request(method, route string, status int, took time.Duration) {
	m.httpSeconds.WithLabelValues(m.bounds.of("method", method), m.bounds.route(route), strconv.Itoa(status)).Observe(took.Seconds())
}

// Store records one call to the store.
func (m *Metrics) Store(operation, outcome string, took time.Duration) {
	m.storeSeconds.WithLabelValues(m.bounds.of("store", operation), m.bounds.of("outcome", outcome)).Observe(took.Seconds())
}

// Redis records one call to Redis.
func (m *Metrics) Redis(operation, outcome string, took time.Duration) {
	m.redisSeconds.WithLabelValues(m.bounds.of("redis", operation), m.bounds.of("outcome", outcome)).Observe(took.Seconds())
}

// Provider records one call to a venue or provider with its ending (DESIGN §8).
func (m *Metrics) Provider(provider, operation, outcome string, took time.Duration) {
	m.providerSeconds.WithLabelValues(m.bounds.of("provider", provider), m.bounds.of("call", operation),
		m.bounds.of("outcome", outcome)).Observe(took.Seconds())
}

// Chain records a successful poll: the height processed, the head, and when.
func (m *Metrics) Chain(chain string, height, head int64, at time.Time) {
	chain = m.bounds.of("chain", chain)
	m.chainHeight.WithLabelValues(chain).Set(float64(height))
	m.chainLag.WithLabelValues(chain).Set(float64(max(head-height, 0)))
	m.chainPolled.WithLabelValues(chain).Set(float64(at.Unix()))
}

const (
	maxLabelValues = 64
	other          = "other"
)

var labelValue = regexp.MustCompile(`^[a-zA-Z0-9_.:-]{1,48}$`)

// bounds keeps label values few and plain, so that no input from outside can grow the metrics or write an account
// number into them (I13).
type bounds struct {
	mu   sync.Mutex
	seen map[string]map[string]bool
}

func (b *bounds) of(label, value string) string {
	if !labelValue.MatchString(value) || digits.MatchString(value) {
		return other
	}
	return b.admit(label, value)
}

// route admits a route pattern, which has slashes and colons.
func (b *bounds) route(pattern string) string {
	if pattern == "" {
		return other
	}
	return b.admit("route", pattern)
}

func (b *bounds) admit(label, value string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	values := b.seen[label]
	if values == nil {
		values = map[string]bool{}
		b.seen[label] = values
	}
	if !values[value] {
		if len(values) >= maxLabelValues {
			return other
		}
		values[value] = true
	}
	return value
}
