package config

import (
	"errors"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-playground/validator/v10"
)

// minSecret is the shortest HMAC secret that we choose ourselves.
const minSecret = 16

// shape applies the validate tags, each failure as a sentence.
func (p *Problems) shape(cfg *Config, broken map[string]bool) {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		name, _, _ := strings.Cut(f.Tag.Get("env"), ",")
		return name
	})
	if err := v.RegisterValidation("listen", isListen); err != nil { // only an empty tag is refused
		panic(err)
	}
	var failures validator.ValidationErrors
	if err := v.Struct(cfg); !errors.As(err, &failures) {
		return
	}
	seen := map[string]bool{}
	for _, f := range failures {
		name, _, _ := strings.Cut(f.Field(), "[") // an element of a list
		if broken[name] || seen[name] {
			continue
		}
		seen[name] = true
		p.add(name, sentence(f.Tag(), f.Param()))
	}
}

func sentence(tag, param string) string {
	switch tag {
	case "oneof":
		return "is not one of " + strings.ReplaceAll(param, " ", ", ")
	case "gt":
		return "cannot be zero or negative"
	case "http_url":
		return "is not an http or https address"
	case "listen":
		return "is not host:port"
	case "max":
		return "is longer than " + param + " characters"
	case "excludesall":
		return "has a character that a database name cannot have"
	default:
		return "is empty"
	}
}

// relations checks what no single variable says.
func (p *Problems) relations(cfg *Config, broken map[string]bool) {
	if cfg.Store.Engine == Mongo {
		if !cfg.Store.MongoURI.IsSet() {
			p.add("MONGO_URI", "is missing; STORE=mongo needs it")
		}
		if !cfg.Redis.URL.IsSet() {
			p.add("REDIS_URL", "is missing; STORE=mongo needs it")
		}
	}
	if url := cfg.Redis.URL.Reveal(); url != "" && !broken["REDIS_URL"] && !hasScheme(url, "redis", "rediss", "unix") {
		p.add("REDIS_URL", "does not begin with redis:// or rediss://")
	}
	t := cfg.Times
	if t.ProviderTimeout+cfg.Store.Timeout >= t.OutboxLease &&
		!broken["PROVIDER_TIMEOUT"] && !broken["STORE_TIMEOUT"] && !broken["OUTBOX_LEASE"] {
		// Invariant: a worker's call ends before another worker may take its operation.
		p.add("OUTBOX_LEASE", "must be longer than PROVIDER_TIMEOUT and STORE_TIMEOUT together")
	}
	if cfg.Keys.LookUp.IsSet() && !broken["LOOKUP_KEY"] {
		if _, err := KeyBytes(cfg.Keys.LookUp.Reveal()); err != nil {
			p.add("LOOKUP_KEY", "is too short: "+err.Error())
		}
	}
	p.long("DEPOSIT_WEBHOOK_SECRET", cfg.Deposit.WebhookSecret, broken)
	p.long("DEPOSIT_WEBHOOK_SECRET_PREVIOUS", cfg.Deposit.WebhookSecretPrevious, broken)
	for _, chain := range cfg.ChainURLs.Names() {
		for _, u := range cfg.ChainURLs.Reveal(chain) {
			if !hasScheme(u, "http", "https") {
				p.add(ChainVariable(chain), "has an entry that is not an http or https address")
				break
			}
		}
	}
}

// long refuses an HMAC secret that is set and short.
func (p *Problems) long(name string, s Secret, broken map[string]bool) {
	if s.IsSet() && !broken[name] && len(s.Reveal()) < minSecret {
		p.add(name, "is shorter than 16 characters")
	}
}

// isListen accepts host:port, also with no host and with port 0, which lets the system choose.
func isListen(f validator.FieldLevel) bool {
	_, port, err := net.SplitHostPort(f.Field().String())
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// production refuses whatever belongs to the sandbox or would send a secret in the clear.
func (p *Problems) production(cfg *Config, sandbox []string) {
	if cfg.Store.Engine == Embedded {
		p.add("STORE", "cannot be embedded in production: use a MongoDB replica set")
	}
	p.outside("PAYSTACK_URL", cfg.Paystack.URL)
	p.outside("WHATSAPP_GRAPH_URL", cfg.WhatsApp.GraphURL)
	for _, chain := range cfg.ChainURLs.Names() {
		for _, u := range cfg.ChainURLs.Reveal(chain) {
			if p.outside(ChainVariable(chain), u) {
				break
			}
		}
	}
	for _, f := range fieldsOf(cfg) {
		if !f.Secret {
			continue
		}
		for _, text := range secretTexts(f.value.Interface()) {
			if slices.Contains(sandbox, Digest(text)) {
				p.add(f.Name, "is a known sandbox secret; production needs one of its own")
				break
			}
		}
	}
}

// outside refuses an address that is not encrypted or is on this machine, and says whether it did.
func (p *Problems) outside(name, address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" { // already reported as a shape
		return false
	}
	switch {
	case u.Scheme != "https":
		p.add(name, "must be encrypted (https) in production")
	case loopback(u.Hostname()):
		p.add(name, "is on this machine; production talks to the real provider")
	case oddNumber(u.Hostname()):
		p.add(name, "is neither a name nor an address that can be checked; write the provider's host name")
	default:
		return false
	}
	return true
}

func loopback(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && (ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() || ip.IsMulticast())
}

// oddNumber reports an address in a notation that only some resolvers understand: 127.1, 0x7f000001, 2130706433. Whoever
// writes one means to get past a check (E3).
func oddNumber(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndex(host, ".")+1:]
	return net.ParseIP(host) == nil && last != "" && last[0] >= '0' && last[0] <= '9'
}

func hasScheme(address string, schemes ...string) bool {
	u, err := url.Parse(address)
	return err == nil && slices.Contains(schemes, u.Scheme) && (u.Host != "" || u.Path != "")
}

// secretTexts returns a secret's text, and for a list also each key without its id.
func secretTexts(value any) []string {
	switch v := value.(type) {
	case Secret:
		if v.IsSet() {
			return []string{v.Reveal()}
		}
	case Keys:
		var out []string
		for _, k := range v {
			out = append(out, k.Secret.Reveal(), k.ID+":"+k.Secret.Reveal())
		}
		return out
	}
	return nil
}
