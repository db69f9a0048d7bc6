package admin

// Sealer encrypts small secrets for the store. Both calls are safe to repeat; Open fails when the sealed bytes or the
// associated data were changed.
type Sealer interface {
	Seal(plain []byte, associated string) ([]byte, error)
	Open(sealed []byte, associated string) ([]byte, error)
}
