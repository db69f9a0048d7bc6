//go:build !crashpoints

package storetest

// pointParts is empty: without the build tag there are no choke points to pass.
func pointParts() []part { return nil }
