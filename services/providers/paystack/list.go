package paystack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"offrampbot/services/payout"
)

const (
	perPage  = 100
	mostList = 1000 // pages of one statement
)

// Transfers lists the transfers made between two times, newest first, each once: the statement that reconcile compares
// with our orders. What a status means is decided as in a look-up. Any answer that cannot be read fails the whole list,
// because a statement with a hole proves nothing.
func (c *Client) Transfers(ctx context.Context, from, to time.Time) ([]payout.Result, error) {
	var out []payout.Result
	seen := map[string]bool{}
	for page := 1; page <= mostList; page++ {
		rows, err := c.transferPage(ctx, from, to, page)
		if err != nil {
			return nil, fmt.Errorf("list transfers, page %d: %w", page, err)
		}
		fresh := 0
		for _, row := range rows {
			t, err := readTransfer(row)
			if err != nil {
				return nil, fmt.Errorf("list transfers, page %d: %w", page, err)
			}
			if t.reference == "" {
				return nil, errors.New("list transfers: one has no reference")
			}
			key := t.reference + " " + t.code
			if seen[key] { // a transfer made meanwhile moves the rows to later pages
				continue
			}
			seen[key] = true
			fresh++
			out = append(out, t.result(t.reference))
		}
		if len(rows) < perPage || fresh == 0 {
			return out, nil
		}
	}
	return nil, errors.New("list transfers: there are too many for one statement")
}

func (c *Client) transferPage(ctx context.Context, from, to time.Time, page int) ([]json.RawMessage, error) {
	ctx, cancel := within(ctx, c.cfg.Timeout, "paystack list of transfers")
	defer cancel()
	got, err := c.call(ctx, http.MethodGet, "/transfer", url.Values{
		"perPage": {strconv.Itoa(perPage)}, "page": {strconv.Itoa(page)},
		"from": {from.UTC().Format(time.RFC3339)}, "to": {to.UTC().Format(time.RFC3339)},
	}, nil)
	if err != nil {
		return nil, err
	}
	a, err := readAnswer(got.body)
	if err != nil {
		return nil, err
	}
	if got.status != http.StatusOK || !a.isOK {
		return nil, fmt.Errorf("answer %d was never heard of: %s", got.status, clean(a.message))
	}
	var rows []json.RawMessage
	if err := json.Unmarshal(a.data, &rows); err != nil || rows == nil {
		return nil, errors.New("answer holds no list")
	}
	return rows, nil
}
