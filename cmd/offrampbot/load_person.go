package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// What everybody of a load does.
const (
	loadChain   = "base"
	loadAsset   = "USDT"
	loadAmount  = 6 // whole tokens; four of them fit into what a new account may get on its first day
	loadBank    = "058"
	loadPIN     = "482913"
	signingUp   = 8               // people at the same time, before the clock runs
	lookAnyway  = 2 * time.Second // how often a chat is looked at when no news of it comes
	loadAccepts = "OFFRAMP_SUCCESS"
)

// loadSale is one sale: when it was meant to begin, what was promised and how long its steps took.
type loadSale struct {
	due     time.Time // by the clock
	account string    // the account that it is paid into; no other sale has it
	started bool      // the PIN was given: from here on money may move

	accepted  bool
	reference string
	net       string        // as the bot quoted it
	ack       time.Duration // of the first webhook, from due
	reply     time.Duration // until the bot handed the form to WhatsApp, from due
	flows     []time.Duration
	paid      time.Duration // from the PIN to the message that says so
	err       error
}

// loadAccount is an account number that no other sale of any run has for a while.
func loadAccount(start time.Time, n int) string {
	return fmt.Sprintf("%010d", (start.UnixMilli()*7+int64(n))%10_000_000_000)
}

// loadPerson is one phone. Its sales follow each other.
type loadPerson struct {
	world *loadWorld
	phone string
	read  int
}

// signEverybodyUp makes people with enough for their sales.
func (w *loadWorld) signEverybodyUp(ctx context.Context, p loadPlan) ([]*loadPerson, error) {
	first := time.Now().UnixMilli() % 10_000_000
	enough := strconv.Itoa((p.sales()/p.people + 1) * loadAmount)
	crowd := make([]*loadPerson, p.people)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(signingUp)
	for i := range crowd {
		crowd[i] = &loadPerson{world: w, phone: fmt.Sprintf("234809%07d", (first+int64(i))%10_000_000)}
		g.Go(func() error {
			if err := crowd[i].join(ctx, enough); err != nil {
				return fmt.Errorf("sign %s up: %w", crowd[i].phone, err)
			}
			return nil
		})
	}
	return crowd, g.Wait()
}

// join signs up and deposits.
func (p *loadPerson) join(ctx context.Context, amount string) error {
	if err := p.say(ctx, "hi"); err != nil {
		return err
	}
	m, err := p.hear(ctx, "sign_up")
	if err != nil {
		return err
	}
	s, err := p.open(ctx, m.Wamid)
	if err != nil {
		return err
	}
	for _, step := range []struct {
		data map[string]any
		want string
	}{
		{map[string]any{"full_name": "Ada Obi", "language": "en"}, "SECURITY_INFO"},
		{map[string]any{"pin": loadPIN, "confirm_pin": loadPIN}, "SUCCESSFUL"},
		{nil, ""},
	} {
		if s, err = p.submit(ctx, s, step.data); err != nil {
			return err
		}
		if step.want != "" && s.Screen != step.want {
			return unexpected(s, step.want)
		}
	}
	if err := p.say(ctx, "deposit"); err != nil {
		return err
	}
	if m, err = p.hear(ctx, "deposit address"); err != nil {
		return err
	}
	_, address, found := strings.Cut(m.Text, "0x")
	if !found || len(address) < 40 {
		return errors.New("no deposit address was shown")
	}
	if err := p.world.call(ctx, http.MethodPost, "/world/chains/"+loadChain+"/transfers",
		map[string]any{"to": "0x" + address[:40], "token": loadAsset, "amount": amount}, nil); err != nil {
		return err
	}
	_, err = p.hear(ctx, amount+" "+loadAsset+" arrived")
	return err
}

// sell plays one sale to the end; what went wrong is kept with it.
func (p *loadPerson) sell(ctx context.Context, s *loadSale) {
	ctx, cancel := context.WithTimeoutCause(ctx, 3*p.world.patience, errors.New("the sale took too long"))
	defer cancel()
	s.err = p.sellOrFail(ctx, s)
}

func (p *loadPerson) sellOrFail(ctx context.Context, s *loadSale) error {
	if err := p.say(ctx, fmt.Sprintf("sell %d usdt on %s", loadAmount, loadChain)); err != nil {
		return err
	}
	s.ack = time.Since(s.due)
	m, err := p.hear(ctx, "offramp_flow")
	if err != nil {
		return err
	}
	s.reply = m.At.Sub(s.due)
	form, err := s.timed(func() (loadScreen, error) { return p.open(ctx, m.Wamid) })
	if err != nil {
		return err
	}
	details := map[string]any{
		"asset": form.Data["asset"], "sell_amount": form.Data["sell_amount"], "beneficiary": "new", "bank_code": loadBank, "account_number": s.account,
	}
	for _, step := range []struct {
		data map[string]any
		want string
	}{{details, "OFFRAMP_FIAT_REVIEW"}, {nil, "OFFRAMP_CRYPTO_REVIEW"}} {
		if form, err = s.timed(func() (loadScreen, error) { return p.submit(ctx, form, step.data) }); err != nil {
			return err
		}
		if form.Screen != step.want {
			return unexpected(form, step.want)
		}
	}
	s.net, s.started = form.text("amount_to_receive"), true
	confirmed := time.Now()
	if form, err = s.timed(func() (loadScreen, error) { return p.submit(ctx, form, map[string]any{"pin": loadPIN}) }); err != nil {
		return err
	}
	if form.Screen != loadAccepts {
		return unexpected(form, loadAccepts)
	}
	s.accepted, s.reference = true, form.text("reference")
	if _, err := p.submit(ctx, form, nil); err != nil {
		return err
	}
	if m, err = p.hear(ctx, "Paid: "); err != nil {
		return err
	}
	s.paid = m.At.Sub(confirmed)
	return nil
}

func (s *loadSale) timed(step func() (loadScreen, error)) (loadScreen, error) {
	start := time.Now()
	out, err := step()
	s.flows = append(s.flows, time.Since(start))
	return out, err
}

func unexpected(s loadScreen, want string) error {
	return fmt.Errorf("the form answered %d and shows %q instead of %s: %s", s.HTTPStatus, s.Screen, want, s.text("error_message"))
}

func (p *loadPerson) say(ctx context.Context, text string) error {
	return p.world.call(ctx, http.MethodPost, "/world/messages", map[string]any{"from": p.phone, "text": text}, nil)
}

// again is how often a person taps once more on a form that gave no answer, as the client offers it.
const again = 5

func (p *loadPerson) open(ctx context.Context, wamid string) (s loadScreen, err error) {
	for range again {
		s = loadScreen{}
		err = p.world.call(ctx, http.MethodPost, "/world/flows/open", map[string]any{"phone": p.phone, "wamid": wamid}, &s)
		if err != nil || s.Screen != "" {
			return s, err
		}
	}
	return s, unexpected(s, "its first screen")
}

func (p *loadPerson) submit(ctx context.Context, at loadScreen, data map[string]any) (s loadScreen, err error) {
	if data == nil {
		data = map[string]any{}
	}
	for range again {
		s = loadScreen{}
		err = p.world.call(ctx, http.MethodPost, "/world/flows/submit",
			map[string]any{"session": at.Session, "screen": at.Screen, "data": data}, &s)
		if err != nil || s.HTTPStatus < http.StatusInternalServerError {
			break
		}
	}
	return s, err
}

// hear waits for a message of the bot that was not read before, by its text or the name of its form.
func (p *loadPerson) hear(ctx context.Context, what string) (loadChatMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, p.world.patience)
	defer cancel()
	latest := "nothing"
	bell := p.world.bell(p.phone)
	for {
		var chat struct {
			Messages []loadChatMessage `json:"messages"`
		}
		if err := p.world.call(ctx, http.MethodGet, "/world/chats/"+p.phone, nil, &chat); err != nil {
			return loadChatMessage{}, err
		}
		for i := p.read; i < len(chat.Messages); i++ {
			m := chat.Messages[i]
			latest = fmt.Sprintf("%q (%s)", m.Text, m.Direction)
			if m.Direction == "out" && (strings.Contains(m.Text, what) || m.Flow != nil && m.Flow.Name == what) {
				p.read = i + 1
				return m, nil
			}
		}
		timer := time.NewTimer(lookAnyway)
		select {
		case <-ctx.Done():
			timer.Stop()
			return loadChatMessage{}, fmt.Errorf("never heard %q; the latest message after what was read: %s", what, latest)
		case <-bell:
		case <-timer.C:
		}
		timer.Stop()
	}
}
