// Package point marks the choke points: every store commit, Redis call and outside call passes Before and After of one
// name. In a normal build they do nothing; with the build tag crashpoints a test installs a hook that ends the process,
// fails the call or loses its reply there. `make build` and the image are built without the tag.
package point

// The names of the choke points.
const (
	StoreCommit = "store.commit"
	StoreAppend = "store.append"
	Redis       = "redis"
	Outside     = "outside"
)
