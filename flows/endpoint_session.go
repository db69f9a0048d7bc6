package flows

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"offrampbot/services/store"
)

const (
	// workTime is how long a request may hold its session; the client gives up after ten seconds.
	workTime = 9 * time.Second
	// keepTime is how long storing an answer may take after the work is done, whatever is left of workTime.
	keepTime = 3 * time.Second
	// pollTime is how often a copy looks whether the request it waits for is answered.
	pollTime = 25 * time.Millisecond
)

// answer finds the session and lets its Flow answer. The same request again gets the same answer and has no second
// effect, in this process or another.
func (e *Endpoint) answer(ctx context.Context, r Request, digest string) ([]byte, error) {
	if r.Token == "" { // some clients leave it out; nothing is done without one (P27)
		return nil, ErrTokenGone
	}
	for {
		out, again, err := e.attempt(ctx, r, digest)
		if err != nil || !again {
			return out, err
		}
		if err := wait(ctx); err != nil {
			return nil, err
		}
	}
}

// attempt answers the request, or says that it is to be tried again: another request works on the session, or was
// faster.
func (e *Endpoint) attempt(ctx context.Context, r Request, digest string) (out []byte, again bool, err error) {
	s, err := e.load(ctx, r.Token)
	if err != nil {
		return nil, false, err
	}
	screens := e.d.Flows[s.Flow]
	if screens == nil {
		return nil, false, ErrTokenGone
	}
	now := e.now()
	decision := s.Decide(digest, e.d.PhoneID, now)
	if decision == Gone && !s.Used(e.d.PhoneID, now) {
		return nil, false, ErrTokenGone
	}
	if decision == Gone || decision == Replay || decision == Busy && s.Working == digest {
		a, ok, err := screens.Repeat(ctx, s, r)
		if err != nil {
			return nil, false, err
		}
		if ok {
			out, err := encode(r, a)
			return out, false, err
		}
	}
	switch {
	case decision == Replay:
		out, err := e.d.Sealer.Open(s.Answer, s.ID)
		if err != nil {
			return nil, false, fmt.Errorf("open stored answer: %w", err)
		}
		return out, false, nil
	case decision == Gone:
		return nil, false, ErrTokenGone
	case decision == Busy && r.Action != ActionInit && r.Action != ActionBack:
		return nil, true, nil
	case decision == Proceed && screens.Acts(r):
		return e.act(ctx, s, screens, r, digest)
	default: // looking at a screen needs no turn
		return e.step(ctx, s, screens, r, digest, decision == Proceed)
	}
}

// step answers a request that changes nothing but its session, if that: whoever stores first wins, and the copies find
// the winner's answer. A request that changed nothing is not stored: its repeat is answered anew, which is as good.
func (e *Endpoint) step(
	ctx context.Context, s *Session, screens Screens, r Request, digest string, mayStore bool,
) (out []byte, again bool, err error) {
	before := *s
	before.Values = maps.Clone(s.Values)
	a, err := show(ctx, s, screens, r)
	if err != nil {
		return nil, false, err
	}
	out, err = encode(r, a)
	if err != nil {
		return nil, false, fmt.Errorf("encode answer: %w", err)
	}
	isKnown := a.entry || s.HasShown(a.Screen)
	if !a.Submitted && isKnown && s.Intent == before.Intent && maps.Equal(s.Values, before.Values) {
		return out, false, nil
	}
	if !mayStore {
		return nil, true, nil
	}
	s.Working = digest
	if err := e.finish(ctx, s, a, digest, out); err != nil {
		return nil, wasFaster(err), unlessFaster(err)
	}
	return out, false, nil
}

// act answers a request that does something outside of its session. It is marked first, so that one copy works; a crash
// in the middle leaves the mark, which ends by itself.
func (e *Endpoint) act(ctx context.Context, s *Session, screens Screens, r Request, digest string) (out []byte, again bool, err error) {
	s.Begin(digest, e.d.PhoneID, e.now(), workTime)
	if err := e.save(ctx, s); err != nil && !e.isMarked(ctx, s, err) {
		return nil, wasFaster(err), unlessFaster(err)
	}
	a, err := show(ctx, s, screens, r)
	if err != nil {
		return nil, false, errors.Join(err, e.abandon(ctx, s.ID, digest))
	}
	out, err = encode(r, a)
	if err != nil {
		return nil, false, errors.Join(fmt.Errorf("encode answer: %w", err), e.abandon(ctx, s.ID, digest))
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), keepTime, errors.New("storing a flow answer took too long"))
	defer cancel()
	if err := e.finish(ctx, s, a, digest, out); err != nil {
		if !wasFaster(err) {
			return nil, false, err
		}
		return e.overtaken(ctx, r, digest)
	}
	return out, false, nil
}

// isMarked finds out whether a save whose end is not known has marked the session for this request.
func (e *Endpoint) isMarked(ctx context.Context, s *Session, err error) bool {
	if !errors.Is(err, store.ErrCommitUnknown) {
		return false
	}
	var now *Session
	err = e.d.Engine.View(ctx, func(_ context.Context, r store.Reader) error {
		now = &Session{}
		return r.Get(store.FlowSessions, s.ID, now)
	})
	if err != nil || now.Revision != s.Revision+1 || now.Working != s.Working || !now.WorkingUntil.Equal(*s.WorkingUntil) {
		return false
	}
	s.Revision = now.Revision
	return true
}

// overtaken is the answer of a request that took so long that another has its session now. What it did stands and is
// found by the other; its own answer is only given when a copy of it was answered meanwhile.
func (e *Endpoint) overtaken(ctx context.Context, r Request, digest string) ([]byte, bool, error) {
	s, err := e.load(ctx, r.Token)
	if err != nil {
		return nil, false, err
	}
	if s.Decide(digest, e.d.PhoneID, e.now()) == Replay {
		out, err := e.d.Sealer.Open(s.Answer, s.ID)
		return out, false, err
	}
	return nil, false, errors.New("another request took the flow session over")
}

// show lets the screen answer.
func show(ctx context.Context, s *Session, screens Screens, r Request) (Answer, error) {
	switch r.Action {
	case ActionInit:
		return screens.Init(ctx, s)
	case ActionBack:
		return screens.Back(ctx, s, r)
	default:
		return screens.Submit(ctx, s, r)
	}
}

// finish stores the answer with the session.
func (e *Endpoint) finish(ctx context.Context, s *Session, a Answer, digest string, out []byte) error {
	sealed, err := e.d.Sealer.Seal(out, s.ID)
	if err != nil {
		return fmt.Errorf("seal answer: %w", err)
	}
	if err := s.Finish(digest, a.Screen, sealed, a.Submitted, e.now()); err != nil {
		return err
	}
	if a.passing {
		s.Forget()
	}
	return e.save(ctx, s)
}

// save replaces the session that was loaded; fn may run again, so each run replaces a copy.
func (e *Endpoint) save(ctx context.Context, s *Session) error {
	var saved Session
	err := e.d.Engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		saved = *s
		return SaveSession(tx, &saved)
	})
	if err == nil {
		s.Revision = saved.Revision
	}
	return err
}

// abandon frees a session whose request failed, so that the client's retry is handled at once. What the request had
// changed in the session is dropped.
func (e *Endpoint) abandon(ctx context.Context, id, digest string) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), keepTime, errors.New("freeing a flow session took too long"))
	defer cancel()
	return e.d.Engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		var s Session
		if err := tx.Get(store.FlowSessions, id, &s); err != nil {
			return fmt.Errorf("read flow session: %w", err)
		}
		if s.Working != digest {
			return nil
		}
		s.Working, s.WorkingUntil = "", nil
		return SaveSession(tx, &s)
	})
}

func (e *Endpoint) load(ctx context.Context, token string) (s *Session, err error) {
	err = e.d.Engine.View(ctx, func(_ context.Context, r store.Reader) error {
		s, err = LoadSession(r, token)
		return err
	})
	return s, err
}

// wasFaster reports that the session is another one by now, or may be: load it and decide again.
func wasFaster(err error) bool {
	return errors.Is(err, store.ErrStale) || errors.Is(err, store.ErrCommitUnknown)
}

func unlessFaster(err error) error {
	if wasFaster(err) {
		return nil
	}
	return err
}

// wait lets the copy of a request that is being answered finish, in this process or another.
func wait(ctx context.Context) error {
	t := time.NewTimer(pollTime)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
