//go:build race

package offramp_test

// defaultWalks is how many random walks a run takes: the race detector makes each several times slower, and a walk has
// no races of its own.
const defaultWalks = 60
