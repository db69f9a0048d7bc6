// Package chaintest is what the deposit watcher is tested with: a scripted chain in memory, books that assert what an
// applier must keep, a rig that joins both with a watcher on a real store, and one suite of expectations that runs on
// the scripted chain, on the sandbox's chain and on anvil. Only tests import it.
package chaintest
