package flows

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"offrampbot/services/fault"
	"offrampbot/services/payout"
)

const (
	// maxOptions is the most that a dropdown may hold.
	maxOptions = 200
	// bankTime bounds every call about a bank: the person waits for it (DESIGN §10).
	bankTime = 2 * time.Second
)

var errBankSlow = errors.New("the bank took too long to answer")

// bankLists keeps the options made of the last list of each currency, because sorting and shortening two hundred names
// costs more than the rest of a screen.
type bankLists struct {
	mu    sync.Mutex
	known map[string]bankOptions
}

type bankOptions struct {
	banks   []payout.Bank // what the options were made of
	options []Option
}

// of returns the options of a list; nobody changes them.
func (l *bankLists) of(currency string, banks []payout.Bank) []Option {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.known[currency]; ok && slices.Equal(known.banks, banks) {
		return known.options
	}
	if l.known == nil {
		l.known = map[string]bankOptions{}
	}
	made := bankOptions{banks: slices.Clone(banks), options: optionsOf(banks)}
	l.known[currency] = made
	return made.options
}

// optionsOf makes a list that people find their bank in: by name, each title its own and within its length. Where a
// country has more banks than a dropdown holds, the smallest kinds are left out last in the alphabet first.
func optionsOf(banks []payout.Bank) []Option {
	type named struct{ code, name, key string }
	list := make([]named, 0, len(banks))
	for _, b := range banks {
		if name := foreign(b.Name, maxName); name != "" && b.Code != "" {
			list = append(list, named{b.Code, name, strings.ToLower(name)})
		}
	}
	slices.SortFunc(list, func(a, b named) int {
		return cmp.Or(cmp.Compare(rank(a.key), rank(b.key)), cmp.Compare(a.key, b.key), cmp.Compare(a.code, b.code))
	})
	list = list[:min(len(list), maxOptions)]
	slices.SortFunc(list, func(a, b named) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.code, b.code)) })
	options := make([]Option, 0, len(list))
	for _, b := range list {
		options = append(options, Option{ID: b.code, Title: b.name})
	}
	return distinct(options)
}

// rank puts the banks that few people have behind the others.
func rank(name string) int {
	for _, small := range []string{"microfinance", "micro finance", "mfb", "mortgage", "cooperative"} {
		if strings.Contains(name, small) {
			return 1
		}
	}
	return 0
}

// distinct shortens titles so that each fits and no two are alike: those that would be end in their id. Options of an id
// that was there before are dropped.
func distinct(options []Option) []Option {
	out := make([]Option, 0, len(options))
	ids, titles := map[string]bool{}, map[string]bool{}
	for _, o := range options {
		if ids[o.ID] {
			continue
		}
		ids[o.ID] = true
		title := short(o.Title, maxTitle)
		if titles[strings.ToLower(title)] {
			tail := " " + short(o.ID, maxTitle/2)
			title = short(o.Title, maxTitle-length(tail)) + tail
		}
		titles[strings.ToLower(title)] = true
		o.Title = title
		out = append(out, o)
	}
	return out
}

// list reads the banks of the person's currency.
func (v *visit) list(ctx context.Context) ([]payout.Bank, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, bankTime, errBankSlow)
	defer cancel()
	banks, err := v.d.Banks.Banks(ctx, v.fiat.Code)
	return banks, bankFault(ctx, err)
}

// holder asks the bank who holds an account. The name is somebody else's text.
func (v *visit) holder(ctx context.Context, bankCode string, account payout.AccountNumber) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, bankTime, errBankSlow)
	defer cancel()
	name, err := v.d.Banks.ResolveAccount(ctx, v.fiat.Code, bankCode, account)
	if err != nil {
		return "", bankFault(ctx, err)
	}
	if name = foreign(name, maxName); name == "" {
		return "", fault.New("account_check_unavailable", errors.New("the bank gave no name"))
	}
	return name, nil
}

// bankFault is an error of a bank call: what the adapter did not classify was not learnt, and nothing was sent.
func bankFault(ctx context.Context, err error) error {
	if err == nil || fault.As(err).Kind != fault.Internal {
		return err
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fault.New("account_check_unavailable", err)
}
