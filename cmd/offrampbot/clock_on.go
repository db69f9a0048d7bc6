//go:build crashpoints

package main

import (
	"os"
	"sync"
	"time"
)

// drift is how far a crash test wants this process's clock to be off: CRASHPOINTS_CLOCK, a Go duration.
var drift = sync.OnceValue(func() time.Duration {
	d, err := time.ParseDuration(os.Getenv("CRASHPOINTS_CLOCK"))
	if err != nil {
		return 0
	}
	return d
})
