package sandbox

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// World is a simulated Meta, Paystack and set of chains. Make one with New, serve Handler, and call Run for everything
// that happens by itself.
type World struct {
	cfg      Config
	secrets  secrets
	mint     *minter
	hub      *hub
	queue    *queue
	faults   *faultBook
	people   *people
	media    *mediaShelf
	flows    *flowShelf
	sessions *sessions
	bank     *bank
	chains   map[string]*chain
	desk     *desk
	closing  chan struct{} // closed when Run ends: nobody waits any longer
	end      sync.Once

	delivered, undelivered atomic.Int64 // deliveries of webhooks to the bot that it answered 200, and that it did not
}

// New makes a world. It refuses a configuration with all its problems at once, and Flow documents that are no JSON.
func New(cfg Config) (*World, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configure the sandbox: %w", err)
	}
	cfg = cfg.withDefaults()
	fixed, err := fixedSecrets()
	if err != nil {
		return nil, err
	}
	public, err := flowPublicKey()
	if err != nil {
		return nil, err
	}
	shelf, err := newFlowShelf(public)
	if err != nil {
		return nil, err
	}
	w := &World{
		cfg: cfg, secrets: fixed, mint: newMinter(cfg.Seed), hub: newHub(cfg.Now), queue: newQueue(cfg.Now, cfg.RetryBase),
		faults: &faultBook{}, people: newPeople(cfg.Seed), media: &mediaShelf{files: make(map[string]mediaFile)},
		flows: shelf, sessions: &sessions{byID: make(map[string]*flowSession)}, bank: newBank(cfg),
		chains: make(map[string]*chain), closing: make(chan struct{}),
		desk: &desk{client: cfg.Client, bot: cfg.BotURL, who: DefaultApprover(), now: cfg.Now},
	}
	for _, document := range cfg.Flows {
		if err := shelf.publish(flowID(cfg.Seed, document.Name), document.Name, document.JSON); err != nil {
			return nil, err
		}
	}
	for _, each := range cfg.Chains {
		w.chains[each.Name] = newChain(each, cfg.Seed, cfg.Now, cfg.ChainAuto, w.hub)
	}
	return w, nil
}

// flowID is the fifteen-digit id of a Flow that is there from the start.
func flowID(seed, name string) string {
	return strconv.FormatUint(binary.BigEndian.Uint64(digestOf(seed, "flow", name))%900_000_000_000_000+100_000_000_000_000, 10)
}

// tick is how often Run looks for payments and blocks that are due by themselves.
const tick = 50 * time.Millisecond

// Run delivers webhooks and lets time pass in the banks and on the chains until ctx ends. It returns nil then: there is
// nothing to save.
func (w *World) Run(ctx context.Context) error {
	defer w.end.Do(func() { close(w.closing) })
	var workers sync.WaitGroup
	for range queueWorkers {
		workers.Go(func() { w.queue.work(ctx) })
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ticker.C:
			w.passTime()
		case <-ctx.Done():
		}
	}
	workers.Wait()
	return nil
}

// Step does one thing that is due: payments and blocks, else one webhook. It reports whether there was anything, so
// that a test with its own clock can drive the world without Run.
func (w *World) Step(ctx context.Context) (worked bool, err error) {
	worked = w.passTime()
	return w.queue.step(ctx) || worked, ctx.Err()
}

// passTime pays what is due at the bank and mines what is due on the chains.
func (w *World) passTime() bool {
	paid := w.bank.settleDue()
	for _, t := range paid {
		w.tellLater(t)
	}
	worked := len(paid) > 0
	for _, c := range w.chains {
		worked = c.autoMine() || worked
	}
	return worked
}

func (w *World) chainNames() []string {
	return sortedNames(w.chains)
}
