package main

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"offrampbot/services/redishook"
)

// newRedis connects on the first call; a Redis that is down never keeps the process from starting.
func newRedis(url string) (*redis.Client, error) { return redishook.New(url, redishook.Config{}) }

// embeddedRedis starts a Redis inside this process, for the embedded store. Its own clock stands still, so it is moved.
func embeddedRedis(ctx context.Context) (url string, err error) {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr("127.0.0.1:0"); err != nil {
		return "", fmt.Errorf("start embedded redis: %w", err)
	}
	go func() {
		defer server.Close()
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				server.FastForward(time.Second)
			}
		}
	}()
	return "redis://" + server.Addr(), nil
}
