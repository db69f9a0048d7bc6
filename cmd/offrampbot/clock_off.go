//go:build !crashpoints

package main

import "time"

// drift is how far this process's clock is off; only a binary for crash tests has one.
func drift() time.Duration { return 0 }
