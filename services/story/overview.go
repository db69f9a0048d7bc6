package story

import (
	"context"
	"errors"
	"fmt"
	"time"

	"offrampbot/services/admin"
	"offrampbot/services/deposit"
	"offrampbot/services/figures"
	"offrampbot/services/offramp"
	"offrampbot/services/store"
)

// StateNow is one state of orders now.
type StateNow struct {
	State  offramp.State `json:"state"`
	Orders int64         `json:"orders"`
	Oldest *OrderRow     `json:"oldest,omitempty"` // the one that is in it since longest, of states that somebody waits in
}

// ChainNow is how far a chain was read.
type ChainNow struct {
	Chain    string    `json:"chain"`
	Height   int64     `json:"height"`
	PolledAt time.Time `json:"polled_at"` // of the last poll that found a new block
}

// Overview is what staff look at first.
type Overview struct {
	States    []StateNow   `json:"states"`
	Accounts  []AccountRow `json:"accounts"` // system accounts, and the sums of all users'
	Approvals int          `json:"approvals"`
	Parked    int          `json:"parked"`
	Chains    []ChainNow   `json:"chains"`
	Behind    bool         `json:"behind,omitempty"` // States and Accounts lack what happened lately
}

// countLimit is how far the overview counts what waits for a person: beyond it the number only says "many".
const countLimit = 200

// Overview reads what staff look at first, in one snapshot.
func (s *Story) Overview(ctx context.Context) (*Overview, error) {
	var out *Overview
	err := s.view(ctx, func(r store.Reader) (err error) {
		out = &Overview{}
		sums, err := figures.Read(r)
		if out.Behind = errors.Is(err, figures.ErrBehind); err != nil && !out.Behind {
			return err
		}
		for _, sum := range sums {
			if row, ok := showSum(sum).(AccountRow); ok && sum.Kind == figures.Account {
				out.Accounts = append(out.Accounts, row)
			}
		}
		if out.States, err = statesNow(r, sums); err != nil {
			return err
		}
		if err := s.waiting(r, out); err != nil {
			return err
		}
		out.Chains, err = chainsNow(r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read overview: %w", err)
	}
	return out, nil
}

// statesNow counts orders by state and finds the oldest of each state that is not the end.
func statesNow(r store.Reader, sums []figures.Sum) ([]StateNow, error) {
	var out []StateNow
	for _, state := range offramp.States() {
		now := StateNow{State: state, Orders: figures.Of(sums, figures.State, string(state))}
		if !state.Final() {
			o, err := store.First[offramp.Order](r, store.Query{Collection: store.Orders, Index: "state", Equal: []any{state}})
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return nil, err
			}
			if err == nil {
				if row, ok := rowOf(o).(OrderRow); ok {
					now.Oldest = &row
				}
			}
		}
		out = append(out, now)
	}
	return out, nil
}

// waiting counts what waits for a person.
func (s *Story) waiting(r store.Reader, out *Overview) error {
	open, err := s.approvalList(r, ask{Query: admin.Query{Limit: countLimit, Filters: map[string]string{"state": string(admin.Open)}}})
	if err != nil {
		return err
	}
	parked, err := s.parkedList(r, ask{Query: admin.Query{Limit: countLimit}})
	if err != nil {
		return err
	}
	out.Approvals, out.Parked = len(open.Items), len(parked.Items)
	return nil
}

func chainsNow(r store.Reader) ([]ChainNow, error) {
	all, err := store.All[deposit.Cursor](r, store.Query{Collection: store.Cursors, Index: store.ByID})
	if err != nil {
		return nil, fmt.Errorf("read cursors: %w", err)
	}
	var out []ChainNow
	for _, c := range all {
		if c.Height > 0 {
			out = append(out, ChainNow{Chain: c.ID, Height: c.Height, PolledAt: c.PolledAt})
		}
	}
	return out, nil
}
