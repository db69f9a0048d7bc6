//go:build !crashpoints

package point

import "context"

// Before is called right before the effect; a non-nil error replaces it.
func Before(context.Context, string) error { return nil }

// After is called right after the effect; a non-nil error means that the reply was lost.
func After(context.Context, string) error { return nil }
