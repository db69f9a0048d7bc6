package paystack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"offrampbot/services/fault"
	"offrampbot/services/money"
	"offrampbot/services/payout"
)

// Banks lists the active banks of a currency, sorted by name. The list is kept for a short while; when a fresh one
// cannot be had the old one goes on. Fault code account_check_unavailable.
func (c *Client) Banks(ctx context.Context, currency string) ([]payout.Bank, error) {
	if _, ok := currencies[currency]; !ok {
		return nil, fault.New("account_check_unavailable", fmt.Errorf("currency %s is not paid by this rail", currency))
	}
	known, fresh := c.cachedBanks(currency)
	if fresh {
		return known, nil
	}
	list, err := c.fetchBanks(ctx, currency)
	if err != nil && len(known) > 0 {
		return known, nil
	}
	if err != nil {
		return nil, fault.New("account_check_unavailable", fmt.Errorf("list banks: %w", err))
	}
	c.banks.mu.Lock()
	defer c.banks.mu.Unlock()
	c.banks.list[currency] = bankList{banks: list, until: c.now().Add(c.cfg.BanksTTL)}
	return slices.Clone(list), nil
}

// cachedBanks is the list in memory and whether it is young enough.
func (c *Client) cachedBanks(currency string) (list []payout.Bank, fresh bool) {
	c.banks.mu.Lock()
	defer c.banks.mu.Unlock()
	known, ok := c.banks.list[currency]
	return slices.Clone(known.banks), ok && c.now().Before(known.until)
}

// fetchBanks reads the list.
func (c *Client) fetchBanks(ctx context.Context, currency string) ([]payout.Bank, error) {
	ctx, cancel := within(ctx, c.cfg.ResolveTimeout, "paystack bank list")
	defer cancel()
	rows, err := c.list(ctx, "/bank", url.Values{"currency": {currency}})
	if err != nil {
		return nil, err
	}
	var out []payout.Bank
	seen := map[string]bool{}
	for _, f := range rows {
		bank := payout.Bank{Code: f.text("code"), Name: strings.TrimSpace(f.text("name"))}
		isGone := string(f["active"]) == "false" || f.isTrue("is_deleted")
		if isGone || !bankForm.MatchString(bank.Code) || bank.Name == "" || seen[bank.Code] {
			continue
		}
		seen[bank.Code] = true
		out = append(out, bank)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("list of %d banks holds none that can be used", len(rows))
	}
	slices.SortFunc(out, func(a, b payout.Bank) int { return strings.Compare(a.Name+a.Code, b.Name+b.Code) })
	return out, nil
}

// list reads an answer whose data is a list of objects.
func (c *Client) list(ctx context.Context, path string, query url.Values) ([]fields, error) {
	got, err := c.call(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return nil, err
	}
	a, err := readAnswer(got.body)
	if err != nil {
		return nil, err
	}
	if got.status != http.StatusOK || !a.isOK {
		return nil, fmt.Errorf("status %d: %s", got.status, clean(a.message))
	}
	var rows []fields
	if err := json.Unmarshal(a.data, &rows); err != nil {
		return nil, errors.New("answer is not a list")
	}
	return rows, nil
}

// ResolveAccount returns the holder's name as the bank has it. Fault codes account_number_invalid (arg digits),
// bank_unknown, account_not_found; account_check_unavailable when nothing was learnt.
func (c *Client) ResolveAccount(ctx context.Context, currency, bankCode string, account payout.AccountNumber) (string, error) {
	if _, ok := currencies[currency]; !ok || !bankForm.MatchString(bankCode) {
		return "", fault.New("bank_unknown", nil)
	}
	if !accountForm.MatchString(string(account)) {
		return "", fault.New("account_number_invalid", nil).With("digits", "10")
	}
	ctx, cancel := within(ctx, c.cfg.ResolveTimeout, "paystack account check")
	defer cancel()
	got, err := c.call(ctx, http.MethodGet, "/bank/resolve", url.Values{"account_number": {string(account)}, "bank_code": {bankCode}}, nil)
	if err != nil {
		return "", fault.New("account_check_unavailable", err)
	}
	a, err := readAnswer(got.body)
	if err != nil {
		return "", fault.New("account_check_unavailable", err)
	}
	if got.status != http.StatusOK || !a.isOK {
		return "", notResolved(got.status, a)
	}
	data, err := object(a.data)
	if err != nil {
		return "", fault.New("account_check_unavailable", err)
	}
	name := strings.Join(strings.Fields(data.text("account_name")), " ")
	if name == "" || data.text("account_number") != string(account) {
		return "", fault.New("account_check_unavailable", errors.New("answer is about another account or has no name"))
	}
	return name, nil
}

// notResolved reads an error answer of the account check.
func notResolved(status int, a answer) error {
	isRefused := !a.isOK && (status == http.StatusBadRequest || status == http.StatusNotFound || status == http.StatusUnprocessableEntity)
	switch {
	case isRefused && a.code == "invalid_bank_code":
		return fault.New("bank_unknown", nil)
	case isRefused && (a.kind == validationError || status == http.StatusUnprocessableEntity):
		return fault.New("account_not_found", nil)
	}
	return fault.New("account_check_unavailable", fmt.Errorf("status %d: %s", status, clean(a.message)))
}

// Balance is the float in a currency, in its minor unit; a currency that is not in the answer is an error.
func (c *Client) Balance(ctx context.Context, currency string) (money.Minor, error) {
	ctx, cancel := within(ctx, c.cfg.Timeout, "paystack balance")
	defer cancel()
	rows, err := c.list(ctx, "/balance", nil)
	if err != nil {
		return 0, fmt.Errorf("read float: %w", err)
	}
	for _, f := range rows {
		balance, ok := f.integer("balance")
		if f.text("currency") == currency && ok {
			return money.Minor(balance), nil
		}
	}
	return 0, fmt.Errorf("read float: no balance in %s", currency)
}
