// Package config reads the environment into one typed value (DESIGN §13). All problems are reported together, by name
// and never by value; a missing secret is a refusal to start, and no check can be switched off by an empty value (D22).
package config

import "time"

// Environment says whether money is real.
type Environment string

// The environments. The database is stamped with one of them and refuses the other.
const (
	Production Environment = "production" // the default: real money
	Sandbox    Environment = "sandbox"    // simulated world
)

// Engine names the store.
type Engine string

// The engines of STORE.
const (
	Mongo    Engine = "mongo"
	Embedded Engine = "embedded"
)

// Config is the whole configuration, a struct per concern.
type Config struct {
	App       App
	HTTP      HTTP
	Store     Store
	Redis     Redis
	WhatsApp  WhatsApp
	Flow      Flow
	Keys      KeyRings
	Deposit   Deposit
	Paystack  Paystack
	Admin     Admin
	Policy    Policy
	Times     Times
	ChainURLs ChainURLs
}

// App says which world the process lives in.
type App struct {
	Env Environment `env:"APP_ENV" envDefault:"production" validate:"oneof=production sandbox" doc:"Whether money is real: production or sandbox. The database is stamped with it at first start and any other value is refused."`
}

// HTTP holds the listeners' addresses.
type HTTP struct {
	Addr         string `env:"HTTP_ADDR" envDefault:":8080" validate:"listen" doc:"Address of the public listener: webhooks and admin."`
	InternalAddr string `env:"INTERNAL_ADDR" envDefault:"127.0.0.1:8081" validate:"listen" doc:"Address of the internal listener: trusted deposit confirmations. Never expose it."`
	MetricsAddr  string `env:"METRICS_ADDR" validate:"omitempty,listen" doc:"Address of a listener of its own for /metrics. Empty: /metrics is served by the public listener."`
}

// Store says where documents live.
type Store struct {
	Engine   Engine        `env:"STORE" envDefault:"mongo" validate:"oneof=mongo embedded" doc:"System of record: mongo, or embedded (one file, one process; refused in production)."`
	DataDir  string        `env:"DATA_DIR" envDefault:"data" validate:"required" doc:"Folder of the embedded store."`
	MongoURI Secret        `env:"MONGO_URI" doc:"Connection string of a MongoDB replica set. Needed with STORE=mongo."`
	Database string        `env:"MONGO_DATABASE" envDefault:"offramp" validate:"required,max=63,excludesall=/\\. $" doc:"Name of the database."`
	Timeout  time.Duration `env:"STORE_TIMEOUT" envDefault:"5s" validate:"gt=0" doc:"Deadline of one call to the store."`
}

// Redis says where the guard, locks and limits live; it holds no truth (DESIGN §9).
type Redis struct {
	URL Secret `env:"REDIS_URL" doc:"Redis, as redis://… or rediss://…. Needed with STORE=mongo; empty with STORE=embedded: in-process."`
}

// WhatsApp holds the Cloud API account.
type WhatsApp struct {
	GraphURL          string `env:"WHATSAPP_GRAPH_URL" envDefault:"https://graph.facebook.com/v25.0" validate:"http_url" doc:"Graph API with its version."`
	PhoneNumberID     string `env:"WHATSAPP_PHONE_NUMBER_ID,required" validate:"max=64" doc:"Id of the sending number."`
	AccessToken       Secret `env:"WHATSAPP_ACCESS_TOKEN,required" doc:"System user's token, for sending."`
	AppSecret         Secret `env:"WHATSAPP_APP_SECRET,required" doc:"Key of the webhook signature."`
	AppSecretPrevious Secret `env:"WHATSAPP_APP_SECRET_PREVIOUS" doc:"The app secret before a rotation; accepted too while it is set."`
	VerifyToken       Secret `env:"WHATSAPP_VERIFY_TOKEN,required" doc:"Token of the webhook's verification request."`
}

// Flow holds the keys of the Flow data endpoint.
type Flow struct {
	PrivateKey         Secret `env:"FLOW_PRIVATE_KEY,required" doc:"RSA private key of the Flow endpoint, PEM. Newlines may be written as \\n."`
	PrivateKeyPrevious Secret `env:"FLOW_PRIVATE_KEY_PREVIOUS" doc:"The key before a rotation; decrypts too while it is set."`
}

// KeyRings holds the secrets that protect stored data.
type KeyRings struct {
	PINPepper  Keys   `env:"PIN_PEPPER,required" doc:"Pepper of PIN hashes, a list id:key; the first is active."`
	Field      Keys   `env:"FIELD_KEYS,required" doc:"Keys of sealed fields, a list id:key; the first is active, keys rotate re-seals."`
	LookUp     Secret `env:"LOOKUP_KEY,required" doc:"Key of the digests by which sealed values are found. It cannot be rotated without a back-fill."`
	WalletXPUB Secret `env:"WALLET_XPUB,required" doc:"Extended public key of the account m/44'/60'/0'; its fingerprint is stored and another is refused."`
}

// Deposit holds what concerns money coming in.
type Deposit struct {
	WebhookSecret         Secret   `env:"DEPOSIT_WEBHOOK_SECRET,required" doc:"HMAC key of trusted confirmation events, 16 characters or more."`
	WebhookSecretPrevious Secret   `env:"DEPOSIT_WEBHOOK_SECRET_PREVIOUS" doc:"The key before a rotation; accepted too while it is set."`
	TreasuryAddresses     []string `env:"TREASURY_ADDRESSES" validate:"dive,required" doc:"Addresses to which our own addresses may send, comma-separated; any other outgoing transfer alarms."`
}

// ChainURLs maps a chain's name in the registry to its node addresses, from CHAIN_<NAME>_RPC_URLS. They are secrets:
// many hold an API key.
type ChainURLs map[string][]Secret

// Paystack holds the first payout rail.
type Paystack struct {
	SecretKey         Secret `env:"PAYSTACK_SECRET_KEY,required" doc:"Secret key; also the key of its webhook signature."`
	SecretKeyPrevious Secret `env:"PAYSTACK_SECRET_KEY_PREVIOUS" doc:"The key before a rotation; its signatures are accepted too while it is set."`
	URL               string `env:"PAYSTACK_URL" envDefault:"https://api.paystack.co" validate:"http_url" doc:"Base address of the API."`
}

// Admin holds the staff's token keys.
type Admin struct {
	JWTKeys Keys `env:"ADMIN_JWT_KEY,required" doc:"Keys of staff tokens (HS256), a list id:key; the first signs, all verify."`
}

// Policy holds files and switches that steer decisions.
type Policy struct {
	ScreeningFile     string `env:"SCREENING_FILE" doc:"File of screened addresses and names, one a line."`
	GuardContentCheck string `env:"GUARD_CONTENT_CHECK" envDefault:"on" validate:"oneof=on off" doc:"Whether a second identical sale asks first: on or off. The durable guard has no switch."`
	RegistryFile      string `env:"REGISTRY_FILE" doc:"File that replaces the built-in registry of chains, tokens, currencies and limits."`
}

// ContentCheck reports whether a second identical sale asks first.
func (p Policy) ContentCheck() bool { return p.GuardContentCheck != "off" }

// Times holds every period that tests may shorten.
type Times struct {
	QuoteTTL           time.Duration   `env:"QUOTE_TTL" envDefault:"10m" validate:"gt=0" doc:"How long a quote can be taken."`
	OrderDepositWindow time.Duration   `env:"ORDER_DEPOSIT_WINDOW" envDefault:"30m" validate:"gt=0" doc:"How long an order waits for a deposit to be seen."`
	OrderConfirmWindow time.Duration   `env:"ORDER_CONFIRM_WINDOW" envDefault:"6h" validate:"gt=0" doc:"How long an order waits for a seen deposit to be deep enough."`
	OrderLapseAfter    time.Duration   `env:"ORDER_LAPSE_AFTER" envDefault:"24h" validate:"gt=0" doc:"When an overdue order is cancelled."`
	PendingTooLong     time.Duration   `env:"PENDING_TOO_LONG" envDefault:"10m" validate:"gt=0" doc:"When an accepted payout without an ending becomes unclear."`
	VisibilityBound    time.Duration   `env:"VISIBILITY_BOUND" envDefault:"10m" validate:"gt=0" doc:"How long after a call a provider may still not know its reference."`
	ProviderTimeout    time.Duration   `env:"PROVIDER_TIMEOUT" envDefault:"15s" validate:"gt=0" doc:"Deadline of one call to a venue or provider."`
	LookUpSchedule     []time.Duration `env:"LOOKUP_SCHEDULE" envDefault:"5s,15s,1m,5m,15m,1h" validate:"min=1,dive,gt=0" doc:"Pauses between look-ups of one reference; the last repeats."`
	LookUpGiveUp       time.Duration   `env:"LOOKUP_GIVE_UP" envDefault:"24h" validate:"gt=0" doc:"When look-ups stop and a person decides."`
	OutboxLease        time.Duration   `env:"OUTBOX_LEASE" envDefault:"30s" validate:"gt=0" doc:"How long a worker holds an operation; more than PROVIDER_TIMEOUT and STORE_TIMEOUT together."`
	ChainPoll          time.Duration   `env:"CHAIN_POLL" envDefault:"4s" validate:"gt=0" doc:"Pause between two polls of a chain."`
}
