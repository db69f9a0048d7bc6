package whatsapp

import (
	"hash/fnv"
	"sync"
	"time"
)

// gate holds what this process has learnt about waiting: the breaker over everything, the back-off of the number, and
// of single people. It is forgotten with the process; each process learns it from its own first error.
type gate struct {
	mu       sync.Mutex
	pause    time.Duration // of the breaker
	tripped  bool
	until    time.Time // breaker or number: nothing goes before
	strikes  int       // throttled in a row, of the number
	people   map[string]personGate
	probeFor time.Duration
}

type personGate struct {
	until   time.Time
	strikes int
}

const (
	mostPairWait   = 64 * time.Second // 4^3, as WhatsApp's advice ends (P39)
	mostNumberWait = 60 * time.Second
	mostPeople     = 10_000
)

func newGate(pause time.Duration) *gate {
	return &gate{pause: pause, people: map[string]personGate{}, probeFor: 30 * time.Second}
}

// wait says how long nothing may go to this person. When the breaker's pause is over, one message goes as a probe and
// everything else waits for what becomes of it.
func (g *gate) wait(person string, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Before(g.until) {
		return g.until.Sub(now)
	}
	if p := g.people[person]; now.Before(p.until) {
		return p.until.Sub(now)
	}
	if g.tripped {
		g.until = now.Add(g.probeFor)
	}
	return 0
}

// trip stops everything and reports how long, and whether it was open before: then nobody knows yet.
func (g *gate) trip(now time.Time) (wait time.Duration, first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	first = !g.tripped
	g.tripped, g.until = true, now.Add(g.pause)
	return g.pause, first
}

// throttleNumber makes everybody wait: 1, 2, 4 … 60 seconds, or what WhatsApp asks for.
func (g *gate) throttleNumber(now time.Time, asked time.Duration) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	wait := min(time.Second<<min(g.strikes, 6), mostNumberWait)
	wait = max(wait, asked)
	g.strikes++
	if until := now.Add(wait); until.After(g.until) {
		g.until = until
	}
	return wait
}

// throttlePair makes one person wait 4^x seconds, x = 0, 1, 2 …, at most 64, and nobody else (P39).
func (g *gate) throttlePair(person string, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.people[person]
	wait := min(time.Second<<(2*min(p.strikes, 3)), mostPairWait)
	p.strikes++
	p.until = now.Add(wait)
	g.forget(now)
	g.people[person] = p
	return wait
}

// forget keeps the map small: whoever does not wait any more is forgotten when it is full.
func (g *gate) forget(now time.Time) {
	if len(g.people) < mostPeople {
		return
	}
	for person, p := range g.people {
		if !now.Before(p.until) {
			delete(g.people, person)
		}
	}
	if len(g.people) >= mostPeople {
		clear(g.people)
	}
}

// passed notes a message that WhatsApp took: whatever was wrong is over.
func (g *gate) passed(person string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tripped {
		g.tripped, g.until = false, time.Time{}
	}
	g.strikes = 0
	delete(g.people, person)
}

// spread moves a due time by up to a quarter of the wait, by the operation's id, so that those who wait together do not
// come back together.
func spread(wait time.Duration, id string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // a hash never returns an error
	return wait + wait*time.Duration(h.Sum32()%256)/1024
}
