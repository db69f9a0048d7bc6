//go:build !race

package offramp_test

// defaultWalks is how many random walks a run takes.
const defaultWalks = 300
