// Package point marks the choke points: every store commit, Redis call and outside call passes Before and After of one
// name. In a normal build they do nothing; with the build tag crashpoints a test harness numbers them and crashes,
// fails or loses the reply there. A test checks that the release binary holds none.
package point

// The names of the choke points.
const (
	StoreCommit = "store.commit"
	StoreAppend = "store.append"
	Redis       = "redis"
	Outside     = "outside"
)
