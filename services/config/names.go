package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// prefixes begin our names and nobody else's; a name with one of them that we do not know is a typing error that would
// otherwise leave a default in force. APP_, HTTP_ and DATA_ are not ours alone (HTTP_PROXY).
var prefixes = []string{
	"ADMIN_", "CHAIN_", "DEPOSIT_", "FIELD_", "FLOW_", "GUARD_", "INTERNAL_", "LOOKUP_", "METRICS_", "MONGO_", "ORDER_",
	"OUTBOX_", "PAYSTACK_", "PENDING_", "PIN_", "PROVIDER_", "QUOTE_", "REDIS_", "REGISTRY_", "SCREENING_", "STORE_",
	"TREASURY_", "VISIBILITY_", "WALLET_", "WHATSAPP_",
}

var (
	chainName = regexp.MustCompile(`^CHAIN_([A-Z0-9]+(?:_[A-Z0-9]+)*)_RPC_URLS(_FILE)?$`)
	// serviceName: what a container platform adds for a service called "mongo" or "redis".
	serviceName = regexp.MustCompile(`^(MONGO|REDIS)_(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_[0-9]+_(TCP|UDP)(_.*)?)?)$`)
)

// unknown refuses every name with a prefix of ours that is no variable of ours.
func (p *Problems) unknown(vars map[string]string) {
	known := map[string]bool{}
	for _, f := range Fields() {
		known[f.Name] = true
		if f.Secret {
			known[f.Name+"_FILE"] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if known[name] || chainName.MatchString(name) || serviceName.MatchString(name) {
			continue
		}
		if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			p.add(name, "is not a name of this program")
		}
	}
}

// chainURLs collects CHAIN_<NAME>_RPC_URLS; the chain's name is <NAME> in lower case with - for _.
func chainURLs(vars map[string]string) ChainURLs {
	out := ChainURLs{}
	for name, value := range vars {
		m := chainName.FindStringSubmatch(name)
		if m == nil || m[2] != "" || value == unreadable {
			continue
		}
		chain := strings.ReplaceAll(strings.ToLower(m[1]), "_", "-")
		for url := range strings.SplitSeq(value, ",") {
			out[chain] = append(out[chain], NewSecret(strings.TrimSpace(url)))
		}
	}
	return out
}

// Names lists the chains in order.
func (c ChainURLs) Names() []string { return slices.Sorted(maps.Keys(c)) }

// Reveal returns the addresses of one chain's nodes in order of preference.
func (c ChainURLs) Reveal(chain string) []string {
	var out []string
	for _, url := range c[chain] {
		out = append(out, url.Reveal())
	}
	return out
}

// ChainVariable is the name of the variable that lists a chain's nodes.
func ChainVariable(chain string) string {
	return "CHAIN_" + strings.ReplaceAll(strings.ToUpper(chain), "-", "_") + "_RPC_URLS"
}
