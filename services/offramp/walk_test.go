package offramp_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/assets"
	"offrampbot/services/deposit"
	"offrampbot/services/invariant"
	"offrampbot/services/offramp"
	"offrampbot/services/offramp/offramptest"
	"offrampbot/services/payout"
	"offrampbot/services/store"
	"offrampbot/services/store/bolt"
	"offrampbot/services/testkit"
	"offrampbot/services/user"
)

var (
	walks     = flag.Int("walks", defaultWalks, "random walks of TestWalks")
	walkSteps = flag.Int("walk-steps", 90, "steps of a random walk")
	walkSeed  = flag.Uint64("walk-seed", 0, "run only the walk of this seed, and print it")
)

// TestWalks lets everybody do anything in any order: a user with several orders, a chain that reorganises, a venue and
// two banks that lose replies, hide what they did and change their minds, two workers that stall and die at any durable
// step, timers, two admins, freezes. After every step the books and the outside world's truth are compared, and from
// where a walk ends the workers, the timers and the admins alone must bring every order to an end. It is the model of
// the order table, rebuilt over the real service.
func TestWalks(t *testing.T) {
	t.Parallel()
	if *walkSeed > 0 {
		w := newWalk(t, *walkSeed)
		w.run(*walkSteps)
		t.Log(strings.Join(w.trace, "\n"))
		return
	}
	const shards = 4
	var mu sync.Mutex
	events := map[offramp.Event]int{}
	t.Cleanup(func() {
		t.Logf("%d walks: %v", *walks, events)
		if *walks < 200 || t.Failed() {
			return
		}
		for _, on := range offramp.Events() {
			require.Positive(t, events[on], "no walk ever came to %s", on)
		}
	})
	for shard := range shards {
		t.Run(fmt.Sprintf("shard %d", shard+1), func(t *testing.T) {
			t.Parallel()
			for seed := 1 + shard; seed <= *walks; seed += shards {
				w := newWalk(t, uint64(seed))
				w.run(*walkSteps)
				w.close()
				mu.Lock()
				for on, n := range w.events {
					events[on] += n
				}
				mu.Unlock()
			}
		})
	}
}

// walk is one world in which random things happen.
type walk struct {
	t      *testing.T
	seed   uint64
	r      *rand.Rand
	engine store.Engine
	close  func()
	clock  *testkit.Clock
	svc    *offramp.Service
	check  *invariant.Checker
	banks  []*bank
	market *market
	hands  []*laborer

	deposits  []*transfer
	quotes    []string
	orders    []string
	proposals []*proposal
	claims    int
	steps     int
	commits   int // and how many of them were verified
	verified  int
	known     struct {
		at     int // commits
		orders map[string]*offramp.Order
	}

	script      func(d *deed) (lost bool) // what a call does and whether its reply is lost; nil: anything
	contradicts bool                      // the banks may pay what they said had failed
	calm        bool                      // the walk is over: everybody tells the truth and nobody dies
	trace       []string
	events      map[offramp.Event]int
}

func newWalk(t *testing.T, seed uint64) *walk {
	t.Helper()
	engine, err := bolt.Open(bolt.Options{Indexes: indexes(), Now: testkit.Noon().Now})
	require.NoError(t, err)
	w := newWalkOn(t, engine, seed)
	w.close = func() { require.NoError(t, engine.Close(t.Context())) }
	w.contradicts = seed%3 == 0
	for n := range 3 {
		w.deposits = append(w.deposits, newTransfer(w, n))
	}
	if seed%3 > 0 { // the balance covers a sale from the beginning
		w.must(w.svc.ApplyDeposit(t.Context(), w.deposits[0].fact(deposit.FactConfirmed)))
	}
	return w
}

// newWalkOn is the world of a walk on an engine, before anything has happened in it.
func newWalkOn(t *testing.T, engine store.Engine, seed uint64) *walk {
	t.Helper()
	w := &walk{
		t: t, seed: seed, r: rand.New(rand.NewPCG(seed, 42)), engine: engine, clock: testkit.Noon(), events: map[offramp.Event]int{},
	}
	w.market = &market{w: w, did: map[string]*deed{}}
	for _, name := range []string{"bank", "other"} {
		w.banks = append(w.banks, &bank{w: w, name: name, did: map[string]*deed{}})
	}
	router, err := payout.NewRouter(w.banks[0], w.banks[1])
	require.NoError(t, err)
	w.svc, err = offramp.New(offramp.Deps{
		Engine: gated{engine, &w.commits}, Registry: assets.Sandbox(), Venues: offramp.Venues{"desk": w.market},
		Rails: offramp.Rails{"bank": w.banks[0], "other": w.banks[1]}, Router: router, Sealer: offramptest.Sealer{}, Screener: offramptest.Screener{},
		Watcher: w, Now: w.clock.Now, LookupKey: []byte(strings.Repeat("k", 32)),
	}, offramp.Config{Policy: offramp.DefaultPolicy(), Venue: "desk"})
	require.NoError(t, err)
	w.check, err = invariant.New(engine, assets.Sandbox())
	require.NoError(t, err)
	w.must(engine.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
		u := &user.User{Name: "Ada Obi", Country: "NG", Status: user.Active, Tier: assets.Sandbox().Tiers()[0].ID, Address: "0xada"}
		u.ID, u.Version = "ada", 1
		return tx.Insert(store.Users, u)
	}))
	w.hands = []*laborer{{w: w, name: "worker A"}, {w: w, name: "worker B"}}
	return w
}

// run takes the steps, checks after each, and then brings everything to an end.
func (w *walk) run(steps int) {
	w.t.Helper()
	for w.steps = range steps {
		w.step()
		w.verify()
	}
	w.settleDown()
}

// note remembers what happened, for the message of a failure.
func (w *walk) note(format string, args ...any) {
	line := fmt.Sprintf("%3d %s  ", w.steps, w.clock.Now().Format("02 15:04:05")) + fmt.Sprintf(format, args...)
	w.trace = append(w.trace, line)
}

func (w *walk) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("walk %d: %s\n%s", w.seed, fmt.Sprintf(format, args...), strings.Join(w.trace, "\n"))
}

func (w *walk) must(err error) {
	if err != nil {
		w.t.Helper()
		w.fail("%v", err)
	}
}

// mayFail reports whether a worker's error is one that a retry is for.
func (w *walk) mayFail(err error) bool {
	return strings.Contains(err.Error(), "not enough time left") || errors.Is(err, context.Canceled)
}

// Moved, Alerted, Refused and Outcome are the service's watcher.
func (w *walk) Moved(_ context.Context, m offramp.Moved) {
	w.events[m.On]++
	w.note("order %s: %s, %s → %s (%s)", m.Order.Reference, m.On, m.From, m.Order.State, m.Order.Phase)
}
func (w *walk) Alerted(context.Context, string, string, string) {}
func (w *walk) Refused(_ context.Context, _ string, on offramp.Event, code string) {
	w.note("%s refused: %s", on, code)
}
func (w *walk) Outcome(context.Context, string, string, string, time.Duration) {}
