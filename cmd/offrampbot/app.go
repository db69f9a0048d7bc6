package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"offrampbot/bot"
	"offrampbot/flows"
	"offrampbot/services/admin"
	"offrampbot/services/assets"
	"offrampbot/services/chains/evm"
	"offrampbot/services/config"
	"offrampbot/services/exchange"
	"offrampbot/services/guard"
	"offrampbot/services/ids"
	"offrampbot/services/inbox"
	"offrampbot/services/lock"
	"offrampbot/services/obs"
	"offrampbot/services/offramp"
	"offrampbot/services/payout"
	"offrampbot/services/phone"
	"offrampbot/services/providers/paystack"
	"offrampbot/services/ratelimit"
	"offrampbot/services/redishook"
	"offrampbot/services/screening"
	"offrampbot/services/seal"
	"offrampbot/services/session"
	"offrampbot/services/setting"
	"offrampbot/services/slip"
	"offrampbot/services/texts"
	"offrampbot/services/user"
	"offrampbot/services/whatsapp"
	"offrampbot/webhooks"
)

// app is the whole bot, wired by hand. Nothing else knows every type.
type app struct {
	cfg      *config.Config
	log      *slog.Logger
	metrics  *obs.Metrics
	db       database
	redis    *redis.Client
	registry *assets.Registry
	texts    *texts.Catalogue
	sealer   *seal.Keyring
	book     *evm.AddressBook
	settings *setting.Catalogue
	users    *user.Service
	orders   *offramp.Service
	guard    *guard.Guard
	limiter  *ratelimit.Limiter
	locker   *lock.Locker
	staff    *admin.Service
	inbox    *inbox.Inbox
	sender   *whatsapp.Sender
	graph    *whatsapp.Client
	bot      *bot.Dispatcher
	rails    map[string]payout.Rail
	edge     *webhooks.Edge
	workers  []worker
	health   *health
	endpoint *flows.Endpoint
	owner    string

	drain        time.Duration
	installation string // random id of the database, in every key of Redis
}

// tune is what demo and tests turn.
type tune struct {
	db       database // nil: from the configuration
	redisURL string   // empty: from the configuration
	log      *slog.Logger
	registry *assets.Registry
	drain    time.Duration // how long the process says that it is not ready before it refuses connections
}

// newApp reads top to bottom: store, Redis, domain, adapters, edge, workers.
func newApp(ctx context.Context, cfg *config.Config, t tune) (*app, error) {
	a := &app{cfg: cfg, log: t.log, metrics: obs.NewMetrics(version), db: t.db, registry: t.registry, drain: t.drain}
	if a.log == nil {
		a.log = newLogger()
	}
	host, _ := os.Hostname()
	start, err := ids.NewIntent()
	if err != nil {
		return nil, err
	}
	a.owner = fmt.Sprintf("%s/%d/%s", host, os.Getpid(), start[len(start)-6:])
	for _, part := range []func(context.Context, tune) error{
		a.openLeaves, a.openStores, a.openPeople, a.openOrders, a.openChat, a.openEdge, a.openWorkers,
	} {
		if err := part(ctx, t); err != nil {
			return nil, errors.Join(err, a.close(ctx))
		}
	}
	return a, nil
}

func now() time.Time { return time.Now().Add(drift()).UTC() }

// openLeaves makes what needs nothing but the configuration.
func (a *app) openLeaves(context.Context, tune) (err error) {
	if a.registry == nil {
		if a.registry, err = loadRegistry(a.cfg); err != nil {
			return err
		}
	}
	if a.texts, err = texts.Load(); err != nil {
		return err
	}
	keys := make([]seal.Key, 0, len(a.cfg.Keys.Field))
	for _, k := range a.cfg.Keys.Field {
		keys = append(keys, seal.Key{ID: k.ID, Bytes: k.Bytes()})
	}
	if a.sealer, err = seal.NewKeyring(keys...); err != nil {
		return err
	}
	if a.book, err = evm.NewAddressBook(a.cfg.Keys.WalletXPUB.Reveal()); err != nil {
		return err
	}
	a.settings, err = setting.NewCatalogue(a.registry, []string{"paystack"}, []string{exchange.DeskName}, formNames()...)
	return err
}

// loadRegistry is the built-in registry of the world, or the operator's own.
func loadRegistry(cfg *config.Config) (*assets.Registry, error) {
	if cfg.Policy.RegistryFile != "" {
		data, err := os.ReadFile(cfg.Policy.RegistryFile)
		if err != nil {
			return nil, fmt.Errorf("read REGISTRY_FILE: %w", err)
		}
		return assets.Parse(data)
	}
	if cfg.App.Env == config.Sandbox {
		return assets.Sandbox(), nil
	}
	return assets.Default(), nil
}

func (a *app) openStores(ctx context.Context, t tune) (err error) {
	if a.db == nil {
		db, err := openStore(ctx, a.cfg)
		if err != nil {
			return err // a.db stays nil: what did not open is not closed
		}
		a.db = db
	}
	if a.installation, err = prepare(ctx, a.db, a.cfg, a.book.Fingerprint()); err != nil {
		return err
	}
	a.db = measured{a.db, a.metrics}
	url := t.redisURL
	if url == "" {
		url = a.cfg.Redis.URL.Reveal()
	}
	if url == "" {
		if url, err = embeddedRedis(ctx); err != nil {
			return err
		}
	}
	redishook.LogTo(a.log)
	if a.redis, err = newRedis(url); err != nil {
		return err
	}
	a.redis.AddHook(redisTimes{a.metrics})
	if a.locker, err = lock.New(a.redis, lock.Config{Prefix: a.prefix("lock")}); err != nil {
		return err
	}
	a.limiter, err = ratelimit.New(ratelimit.Deps{Client: a.redis, Now: now, Log: a.log}, ratelimit.Config{Prefix: a.prefix("rate")})
	return err
}

// prefix is the beginning of all keys of one kind in Redis. Another database in the same Redis has another one.
func (a *app) prefix(kind string) string { return "offramp:" + kind + ":" + a.installation + ":" }

// lookupKey is the key of digests.
func (a *app) lookupKey() []byte { return []byte(a.cfg.Keys.LookUp.Reveal()) }

func (a *app) openPeople(context.Context, tune) (err error) {
	peppers := make([]user.Pepper, 0, len(a.cfg.Keys.PINPepper))
	for _, k := range a.cfg.Keys.PINPepper {
		peppers = append(peppers, user.Pepper{ID: k.ID, Key: k.Bytes()})
	}
	hasher, err := user.NewArgon(peppers, user.DefaultCost())
	if err != nil {
		return err
	}
	a.users, err = user.NewService(user.Deps{
		Engine: a.db, Hasher: hasher, Addresses: a.book, Guards: lateGuards{a}, Now: now, CountryOf: phone.Country,
	}, user.Config{LookupKey: a.lookupKey(), Tier: a.registry.Tiers()[0].ID})
	if err != nil {
		return err
	}
	keys := make([]admin.Key, 0, len(a.cfg.Admin.JWTKeys))
	for _, k := range a.cfg.Admin.JWTKeys {
		keys = append(keys, admin.Key{ID: k.ID, Secret: k.Bytes()})
	}
	a.staff, err = admin.New(admin.Deps{Engine: a.db, Sealer: a.sealer, Now: now, Rand: rand.Reader}, admin.Config{Keys: keys})
	return err
}

func (a *app) openOrders(context.Context, tune) error {
	desk, err := exchange.NewDesk(a.db, setting.Book, now)
	if err != nil {
		return err
	}
	rail, err := newRail(a.cfg)
	if err != nil {
		return err
	}
	a.rails = map[string]payout.Rail{rail.Name(): rail}
	router, err := payout.NewRouter(rail)
	if err != nil {
		return err
	}
	list, err := loadScreening(a.cfg)
	if err != nil {
		return err
	}
	a.guard, err = guard.New(guard.Deps{Client: a.redis, Orders: guardOrders{a.db}, Metrics: a.metrics, Log: a.log, Now: now},
		guard.Config{Installation: a.installation, ContentCheckOff: !a.cfg.Policy.ContentCheck()})
	if err != nil {
		return err
	}
	addresses, err := treasuryOf(a.cfg)
	if err != nil {
		return err
	}
	treasury := map[string]bool{}
	for _, address := range addresses {
		treasury[address] = true
	}
	a.orders, err = offramp.New(offramp.Deps{
		Engine: a.db, Registry: a.registry, Venues: offramp.Venues{desk.Name(): desk}, Rails: a.rails, Router: router,
		Sealer: a.sealer, Screener: list, Watcher: watcher{a.log, a.metrics}, Now: now, LookupKey: a.lookupKey(),
	}, offramp.Config{Policy: policyOf(a.cfg.Times, a.cfg.Store.Timeout), Venue: desk.Name(), Guard: a.guard, Treasury: treasury})
	return err
}

// newRail makes the client of Paystack's transfers.
func newRail(cfg *config.Config) (*paystack.Client, error) {
	return paystack.New(paystack.Config{
		URL: cfg.Paystack.URL, SecretKey: cfg.Paystack.SecretKey, SecretKeyPrevious: cfg.Paystack.SecretKeyPrevious,
		Timeout: cfg.Times.ProviderTimeout,
	}, transport(), now)
}

// treasuryOf is TREASURY_ADDRESSES in the one form in which addresses are compared.
func treasuryOf(cfg *config.Config) ([]string, error) {
	var out []string
	for _, address := range cfg.Deposit.TreasuryAddresses {
		canonical, err := assets.CanonicalAddress(address)
		if err != nil {
			return nil, fmt.Errorf("TREASURY_ADDRESSES: %w", err)
		}
		out = append(out, canonical)
	}
	return out, nil
}

// loadScreening reads SCREENING_FILE. Only a sandbox may leave it out; real money is never sold unscreened by accident.
func loadScreening(cfg *config.Config) (offramp.Screener, error) {
	if cfg.Policy.ScreeningFile == "" && cfg.App.Env == config.Sandbox {
		return screening.Empty(), nil
	}
	return screening.Open(cfg.Policy.ScreeningFile)
}

func policyOf(t config.Times, storeTimeout time.Duration) offramp.Policy {
	p := offramp.DefaultPolicy()
	p.QuoteTTL, p.DepositWindow, p.ConfirmWindow = t.QuoteTTL, t.OrderDepositWindow, t.OrderConfirmWindow
	p.LapseAfter, p.PendingTooLong, p.VisibilityBound = t.OrderLapseAfter, t.PendingTooLong, t.VisibilityBound
	p.ProviderTimeout, p.StoreTimeout = t.ProviderTimeout, storeTimeout
	p.LookUpSchedule, p.LookUpGiveUp = t.LookUpSchedule, t.LookUpGiveUp
	return p
}

func (a *app) openChat(context.Context, tune) error {
	var err error
	a.graph, err = whatsapp.New(transport(), whatsapp.Config{
		GraphURL: a.cfg.WhatsApp.GraphURL, PhoneNumberID: a.cfg.WhatsApp.PhoneNumberID, Token: a.cfg.WhatsApp.AccessToken.Reveal(),
		Timeout: min(a.cfg.Times.ProviderTimeout, 10*time.Second), // a call and its commit must fit into a lease
	})
	if err != nil {
		return err
	}
	tokenKey := []byte(ids.Digest(a.lookupKey(), "flow token key"))
	tokens, err := flows.NewTokens(tokenKey)
	if err != nil {
		return err
	}
	pictures, err := slip.New(a.db, a.registry, a.texts)
	if err != nil {
		return err
	}
	a.sender, err = whatsapp.NewSender(whatsapp.Deps{
		Engine: a.db, Client: a.graph, Texts: a.texts, Tokens: tokens, Pictures: pictures, Alerts: alerts{}, Fallback: flowFallback{},
		Pacer: pacer{a.limiter}, Now: now, Log: a.log,
	}, whatsapp.SenderConfig{StoreTimeout: a.cfg.Store.Timeout, Flows: flowTargets(), Templates: templates()})
	if err != nil {
		return err
	}
	drafts, err := session.New(a.redis, a.log, session.Config{Prefix: a.prefix("session")})
	if err != nil {
		return err
	}
	a.bot, err = bot.New(bot.Deps{
		Engine: a.db, Users: a.users, Orders: a.orders, Drafts: drafts, Limiter: a.limiter, Registry: a.registry, Texts: a.texts,
		Tokens: tokens, Log: a.log, Now: now, LookupKey: a.lookupKey(), PhoneID: a.cfg.WhatsApp.PhoneNumberID,
	}, bot.Config{})
	if err != nil {
		return err
	}
	return a.openEndpoint(tokens)
}

// openEdge makes the inbox and the HTTP edge.
func (a *app) openEdge(context.Context, tune) (err error) {
	if a.inbox, err = inbox.New(a.db, a.sealer, inboxMetrics{a.metrics}, a.log); err != nil {
		return err
	}
	rails := map[string]webhooks.CallbackRail{}
	for name, rail := range a.rails {
		rails[name] = rail
	}
	a.health = newHealth(a)
	tales, err := newStory(a)
	if err != nil {
		return err
	}
	deps := webhooks.Deps{
		Inbox: a.inbox, Repeats: repeats{a}, Rails: rails, Approver: approver{a.orders}, Flows: a.endpoint, Confirm: a.orders,
		Staff: a.staff, Reads: tales, Changes: tales, Limiter: a.limiter, Health: a.health, Metrics: a.metrics,
		Scrape: a.metrics.Handler(), Texts: a.texts, Log: a.log, Now: now,
		Digest: func(parts ...string) string { return ids.Digest(a.lookupKey(), parts...) },
	}
	if err := a.addPages(tales, &deps); err != nil {
		return err
	}
	a.edge, err = webhooks.New(deps, webhooks.Config{
		PhoneNumberID: a.cfg.WhatsApp.PhoneNumberID, VerifyToken: a.cfg.WhatsApp.VerifyToken.Reveal(),
		AppSecrets:      secrets(a.cfg.WhatsApp.AppSecret, a.cfg.WhatsApp.AppSecretPrevious),
		DepositSecrets:  secrets(a.cfg.Deposit.WebhookSecret, a.cfg.Deposit.WebhookSecretPrevious),
		SeparateMetrics: a.cfg.HTTP.MetricsAddr != "", PlainCookie: a.plainCookie(),
	})
	return err
}

func secrets(all ...config.Secret) [][]byte {
	var out [][]byte
	for _, s := range all {
		if s.IsSet() {
			out = append(out, s.Bytes())
		}
	}
	return out
}

// transport is one HTTP transport per outside party, with bounded connections.
func transport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one in every Go release
	t.MaxIdleConnsPerHost, t.MaxConnsPerHost, t.Proxy = 32, 64, http.ProxyFromEnvironment
	return t
}

// close ends what newApp opened.
func (a *app) close(ctx context.Context) error {
	var errs []error
	if a.redis != nil {
		errs = append(errs, a.redis.Close())
	}
	if a.db != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		errs = append(errs, a.db.Close(ctx))
	}
	return errors.Join(errs...)
}
