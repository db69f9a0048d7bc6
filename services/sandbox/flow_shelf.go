package sandbox

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"sync"
)

// flow is one Flow of the account: what was uploaded, and what is published.
type flow struct {
	id       string
	name     string
	status   string // DRAFT, PUBLISHED, DEPRECATED
	endpoint string
	document *flowDocument // what a message opens
	raw      []byte
	draft    *flowDocument // the last upload
	draftRaw []byte
	problems []validationError
}

// flowShelf holds the account's Flows and the public key that clients encrypt for.
type flowShelf struct {
	mu     sync.Mutex
	byID   map[string]*flow
	order  []string
	public *rsa.PublicKey
	pem    string
}

func newFlowShelf(public *rsa.PublicKey) (*flowShelf, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("write the Flow public key: %w", err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	return &flowShelf{byID: make(map[string]*flow), public: public, pem: string(block)}, nil
}

// publish puts a document on the shelf as published under a name.
func (s *flowShelf) publish(id, name string, raw []byte) error {
	d, err := parseFlow(raw)
	if err != nil {
		return fmt.Errorf("publish the Flow %q: %w", name, err)
	}
	s.add(&flow{id: id, name: name, status: "PUBLISHED", document: d, raw: raw, draft: d, draftRaw: raw})
	return nil
}

func (s *flowShelf) add(f *flow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID[f.id] = f
	s.order = append(s.order, f.id)
}

func (s *flowShelf) has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id] != nil
}

// with calls fn with a Flow under the lock, nil when there is none.
func (s *flowShelf) with(id string, fn func(f *flow)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn(s.byID[id])
}

// openFlow is what a client opens: one version of a Flow.
type openFlow struct {
	id, name string
	document *flowDocument
	raw      []byte
}

// published finds a Flow by id or name; with draft the last upload counts, otherwise only what is published.
func (s *flowShelf) published(id, name string, draft bool) (openFlow, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.order) - 1; i >= 0; i-- { // the newest of a name wins
		f := s.byID[s.order[i]]
		if (id != "" && f.id != id) || (name != "" && f.name != name) {
			continue
		}
		if draft && f.draft != nil {
			return openFlow{id: f.id, name: f.name, document: f.draft, raw: f.draftRaw}, true
		}
		if f.document != nil && f.status != "DEPRECATED" {
			return openFlow{id: f.id, name: f.name, document: f.document, raw: f.raw}, true
		}
	}
	return openFlow{}, false
}

func (s *flowShelf) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := []string{}
	for _, id := range s.order {
		names = append(names, s.byID[id].name)
	}
	return names
}

// key returns the public key in both forms.
func (s *flowShelf) key() (*rsa.PublicKey, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.public, s.pem
}

// setKey takes an uploaded key: PEM, RSA of 2048 bits.
func (s *flowShelf) setKey(raw string) error {
	block, _ := pem.Decode([]byte(raw))
	if block == nil {
		return errors.New("business_public_key is not PEM")
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return fmt.Errorf("business_public_key cannot be read: %w", err)
	}
	public, ok := parsed.(*rsa.PublicKey)
	if !ok || public.N.BitLen() != 2048 {
		return errors.New("business_public_key is not an RSA key of 2048 bits")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.public, s.pem = public, raw
	return nil
}
