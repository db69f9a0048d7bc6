package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// loadWorld talks to the world API of a sandbox.
type loadWorld struct {
	base, bot    string
	client       *http.Client
	patience     time.Duration
	blockSeconds int
	bankSeconds  int

	mu      sync.Mutex
	waiting map[string]chan struct{} // by phone: somebody who waits for a message
}

func newLoadWorld(p loadPlan) *loadWorld {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one in every Go release
	t.MaxIdleConns, t.MaxIdleConnsPerHost, t.Proxy = 1024, 1024, nil
	return &loadWorld{
		base: p.world, bot: p.bot, patience: p.patience, blockSeconds: p.blockSeconds, bankSeconds: p.bankSeconds,
		client:  &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		waiting: map[string]chan struct{}{},
	}
}

// loadChatMessage is a bubble of a chat.
type loadChatMessage struct {
	Direction string    `json:"direction"`
	Wamid     string    `json:"wamid"`
	Text      string    `json:"text"`
	At        time.Time `json:"at"`
	Flow      *struct {
		Name string `json:"name"`
	} `json:"flow"`
}

// loadScreen is what a form shows.
type loadScreen struct {
	Session    string         `json:"session"`
	HTTPStatus int            `json:"http_status"`
	Screen     string         `json:"screen"`
	Data       map[string]any `json:"data"`
}

func (s loadScreen) text(name string) string {
	text, _ := s.Data[name].(string)
	return text
}

// loadTransfer is what a bank really did.
type loadTransfer struct {
	Reference     string `json:"reference"`
	AmountMinor   int64  `json:"amount_minor"`
	AccountNumber string `json:"account_number"`
	Status        string `json:"status"`
}

// loadState is what the world counts.
type loadState struct {
	Webhooks       int64 `json:"webhooks"`
	WebhooksFailed int64 `json:"webhooks_failed"`
}

// call does one call of the world API.
func (w *loadWorld) call(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, w.patience, errors.New("the world did not answer in time"))
	defer cancel()
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, w.base+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := w.client.Do(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode >= http.StatusMultipleChoices {
		var refusal struct{ Error, Message string }
		_ = json.NewDecoder(res.Body).Decode(&refusal) // without it the status says enough
		return fmt.Errorf("%s %s: status %d %s: %s", method, path, res.StatusCode, refusal.Error, refusal.Message)
	}
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		return fmt.Errorf("read the answer of %s %s: %w", method, path, err)
	}
	return nil
}

// begin sees that bot and world are there and stand in front of each other, and sets what happens by itself.
func (w *loadWorld) begin(ctx context.Context) (before loadState, err error) {
	var info struct {
		BotURL string `json:"bot_url"`
	}
	if err := w.call(ctx, http.MethodGet, "/world/info", nil, &info); err != nil {
		return before, err
	}
	if err := onlyLoopback(info.BotURL); err != nil {
		return before, &misuseError{fmt.Errorf("the world's bot is %s: %w", info.BotURL, err)}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.bot+"/readyz", nil)
	if err != nil {
		return before, err
	}
	res, err := w.client.Do(req)
	if err != nil {
		return before, fmt.Errorf("ask the bot whether it is ready: %w", err)
	}
	_ = res.Body.Close() // only its status matters
	if res.StatusCode != http.StatusOK {
		return before, fmt.Errorf("the bot at %s is not ready: status %d", w.bot, res.StatusCode)
	}
	if w.blockSeconds >= 0 {
		if err := w.call(ctx, http.MethodPost, "/world/chains/"+loadChain+"/auto", map[string]any{"seconds": w.blockSeconds}, nil); err != nil {
			return before, err
		}
	}
	if w.bankSeconds >= 0 {
		if err := w.call(ctx, http.MethodPost, "/world/bank/auto", map[string]any{"seconds": w.bankSeconds}, nil); err != nil {
			return before, err
		}
	}
	return before, w.call(ctx, http.MethodGet, "/world/state", nil, &before)
}

// listen follows what happens in the world and wakes whoever waits for a message, so that nobody polls a chat.
func (w *loadWorld) listen(ctx context.Context) {
	after := "0"
	for ctx.Err() == nil {
		var news struct {
			Items []struct{ Kind, Phone string } `json:"items"`
			Next  string                         `json:"next"`
		}
		if err := w.call(ctx, http.MethodGet, "/world/events?after="+after, nil, &news); err != nil {
			if !sleepUntil(ctx, time.Now().Add(lookAnyway)) {
				return
			}
			continue
		}
		if _, err := strconv.ParseInt(news.Next, 10, 64); err == nil {
			after = news.Next
		}
		for _, e := range news.Items {
			if e.Kind == "message" {
				w.wake(e.Phone)
			}
		}
	}
}

func (w *loadWorld) wake(phone string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.waiting[phone]; c != nil {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// bell rings when a phone gets a message.
func (w *loadWorld) bell(phone string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.waiting[phone]
	if c == nil {
		c = make(chan struct{}, 1)
		w.waiting[phone] = c
	}
	return c
}

// bank lists what the banks really did.
func (w *loadWorld) bank(ctx context.Context) (out []loadTransfer, err error) {
	var list struct {
		Items []loadTransfer `json:"items"`
	}
	err = w.call(ctx, http.MethodGet, "/world/bank/transfers", nil, &list)
	return list.Items, err
}
