package sandbox

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Fault targets that are not chains.
const (
	targetPaystack = "paystack"
	targetMeta     = "meta"
)

// Fault kinds (DESIGN §14). Each says which of two things happens: the effect, and the answer.
const (
	faultError         = "error:"            // no effect; the provider's own error with this code
	faultLostReply     = "lost_reply"        // the effect happens; the connection is dropped without an answer
	faultNoEffect      = "no_effect_timeout" // nothing happens; no answer until the caller gives up (or delay_ms)
	faultHTTP500       = "http_500"          // nothing happens; 500
	faultHTTP500After  = "http_500_after"    // the effect happens; 500
	faultReset         = "reset"             // nothing happens; the connection is reset
	faultHTML          = "html"              // nothing happens; 502 with a gateway's HTML page
	faultEmpty         = "empty"             // the effect happens; 200 with an empty body (a chain: an empty result)
	faultRateLimited   = "rate_limited"      // nothing happens; the provider's throttling answer
	faultWrongAmount   = "wrong_amount"      // the effect happens; the answer names another amount
	faultWrongRef      = "wrong_reference"   // the effect happens; the answer names another reference
	faultStatus        = "status:"           // the effect happens; the answer (Meta: the webhook) says this status
	faultSlow          = "slow"              // waits delay_ms, then the effect and the answer, even if the caller has left
	faultWebhookNever  = "webhook_never"     // the effect happens; its webhooks never come
	faultWebhookTwice  = "webhook_twice"     // every webhook of it comes twice at the same time
	faultWebhookFirst  = "webhook_first"     // its webhook comes before the answer
	defaultSlow        = 2 * time.Second     // of slow without delay_ms
	longestWait        = 60 * time.Second    // of no_effect_timeout without delay_ms
	anyOperation       = "*"                 // every operation of the target
	timesForEver       = -1                  // until DELETE /world/faults
	operationMessages  = "messages"          // any message that is sent, but no read mark
	operationTransfer  = "transfer"          // POST /transfer
	operationVerify    = "verify"            // GET /transfer/verify/:reference
	operationRecipient = "recipient"         // POST /transferrecipient
)

// fault is one lever that is set.
type fault struct {
	ID        string `json:"id"`
	Target    string `json:"target"`
	Operation string `json:"operation"`
	Kind      string `json:"kind"`
	Times     int    `json:"times"` // uses that are left, or −1: until deleted
	DelayMS   int    `json:"delay_ms"`
}

// plan is what the faults say about one call: at most one of each class.
type plan struct {
	slow    time.Duration // before anything happens
	kind    string        // how the answer goes wrong, "" for not at all
	arg     string        // of error: and status:
	wait    time.Duration // of no_effect_timeout
	webhook string        // what its webhooks do, "" for as usual
}

// faultBook keeps the levers in the order they were set.
type faultBook struct {
	mu     sync.Mutex
	faults []*fault
}

// take uses up the first fault of each class that concerns the call. operations are the names the call goes by.
func (b *faultBook) take(target string, operations ...string) plan {
	b.mu.Lock()
	defer b.mu.Unlock()
	var p plan
	used := make(map[string]bool)
	for _, f := range b.faults {
		class := classOf(f.Kind)
		concerned := f.Target == target && (f.Operation == anyOperation || slices.Contains(operations, f.Operation))
		if !concerned || used[class] || f.Times == 0 {
			continue
		}
		used[class] = true
		if f.Times > 0 {
			f.Times--
		}
		p.add(f)
	}
	b.faults = slices.DeleteFunc(b.faults, func(f *fault) bool { return f.Times == 0 })
	return p
}

func (p *plan) add(f *fault) {
	delay := time.Duration(f.DelayMS) * time.Millisecond
	switch classOf(f.Kind) {
	case "slow":
		p.slow = orDuration(delay, defaultSlow)
	case "webhook":
		p.webhook = f.Kind
	default:
		p.kind = f.Kind
		for _, prefix := range []string{faultError, faultStatus} {
			if rest, found := strings.CutPrefix(f.Kind, prefix); found {
				p.kind, p.arg = prefix, rest
			}
		}
		if f.Kind == faultNoEffect {
			p.wait = orDuration(delay, longestWait)
		} else {
			p.slow = max(p.slow, delay)
		}
	}
}

func classOf(kind string) string {
	switch {
	case kind == faultSlow:
		return "slow"
	case strings.HasPrefix(kind, "webhook_"):
		return "webhook"
	default:
		return "answer"
	}
}

func (b *faultBook) set(f fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, &f)
}

func (b *faultBook) clear() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.faults)
	b.faults = nil
	return n
}

func (b *faultBook) list() []fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]fault, len(b.faults))
	for i, f := range b.faults {
		out[i] = *f
	}
	return out
}

var (
	paystackOperations = []string{operationTransfer, operationVerify, "resolve", operationRecipient, "banks", "balance", "finalize"}
	metaOperations     = []string{
		operationMessages, "media", "text", "image", "video", "audio", "document", "sticker", "location", "contacts",
		"reaction", "button", "list", "cta_url", "flow", "template", "read", "location_request_message", "contact_request",
	}
	chainOperations = []string{
		"eth_chainId", "eth_blockNumber", "eth_getBlockByNumber", "eth_getBlockByHash", "eth_getLogs",
		"eth_getTransactionReceipt", "eth_getTransactionByHash", "eth_call", "eth_getBalance", "net_version",
		"web3_clientVersion", "eth_getBlockReceipts", "eth_syncing", "eth_getCode",
	}
	commonKinds = []string{
		faultLostReply, faultNoEffect, faultHTTP500, faultHTTP500After, faultReset, faultHTML, faultEmpty, faultRateLimited, faultSlow,
	}
	webhookKinds = []string{faultWebhookNever, faultWebhookTwice, faultWebhookFirst}
)

// check refuses a fault that could never do what it says: an unknown target, operation or kind, or a kind without
// meaning for its target.
func (f fault) check(chains []string) error {
	operations, kinds := chainOperations, commonKinds
	switch {
	case f.Target == targetPaystack:
		operations = paystackOperations
		kinds = append(slices.Concat(commonKinds, webhookKinds), faultWrongAmount, faultWrongRef)
	case f.Target == targetMeta:
		operations, kinds = metaOperations, slices.Concat(commonKinds, webhookKinds)
	case !slices.Contains(chains, f.Target):
		return fmt.Errorf("target %q is not paystack, meta or a chain of %s", f.Target, strings.Join(chains, ", "))
	}
	if f.Operation != anyOperation && !slices.Contains(operations, f.Operation) {
		return fmt.Errorf("operation %q of %s is none of %s", f.Operation, f.Target, strings.Join(operations, ", "))
	}
	if arg, found := strings.CutPrefix(f.Kind, faultError); found && arg != "" {
		return nil
	}
	if arg, found := strings.CutPrefix(f.Kind, faultStatus); found && arg != "" && kinds[len(kinds)-1] != faultSlow {
		return nil
	}
	if !slices.Contains(kinds, f.Kind) {
		return fmt.Errorf("kind %q has no meaning for %s: it is none of error:<code>, %s", f.Kind, f.Target, strings.Join(kinds, ", "))
	}
	return nil
}
