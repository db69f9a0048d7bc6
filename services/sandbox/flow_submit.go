package sandbox

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"
)

// submitFlow taps the footer of a screen. Copies of a data_exchange go out at the same time, as a client's retries
// would; the session then shows the first copy's screen.
func (w *World) submitFlow(
	ctx context.Context, id, screen string, on *tapped, given map[string]any, copies int,
) ([]flowState, error) {
	s := w.sessions.get(id)
	if s == nil {
		return nil, notFound("session_unknown", "there is no Flow session %q", id)
	}
	action, payload, err := s.tap(screen, on, given)
	if err != nil {
		return nil, err
	}
	switch action.name {
	case "data_exchange":
		s.mark(w.cfg.Now())
		return w.exchange(ctx, s, screen, payload, copies)
	case "navigate":
		state, err := s.navigate(action.next, payload)
		return []flowState{state}, err
	case "complete":
		s.mu.Lock()
		defer s.mu.Unlock()
		params := maps.Clone(payload)
		if _, found := params["flow_token"]; !found {
			params["flow_token"] = s.token
		}
		state := s.state(http.StatusOK)
		state.Ended = true
		state, err = w.closeFlow(ctx, s, state, params, copies)
		return []flowState{state}, err
	}
	return nil, invalid("footer_unknown", "the footer of %s does %q, which no client knows", screen, action.name)
}

func (s *flowSession) mark(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered = at
}

// tap checks that the screen was shown in a Flow that is still open, and computes its footer's payload. An earlier
// screen may be submitted again: people go back without the endpoint hearing of it. Without on it is the footer.
func (s *flowSession) tap(screen string, on *tapped, given map[string]any) (flowAction, map[string]any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return flowAction{}, nil, conflict("session_ended", "the Flow session %q has ended", s.id)
	}
	shown := s.flow.document.screen(screen)
	if shown == nil || s.data[screen] == nil {
		return flowAction{}, nil, conflict("screen_not_shown", "the screen %q was not shown in this session; %q is open", screen, s.current)
	}
	action, found := shown.footer(s.bindings(screen))
	if on != nil {
		action, found = shown.actionOf(s.bindings(screen), *on)
	}
	if !found && on != nil {
		return flowAction{}, nil, invalid("component_unknown", "the screen %q shows no %q that can be tapped", screen, on.Component)
	}
	if !found {
		return flowAction{}, nil, invalid("footer_unknown", "the screen %q shows no footer", screen)
	}
	return action, s.fill(shown, action, given), nil
}

// exchange sends copies of one submission to the endpoint.
func (w *World) exchange(ctx context.Context, s *flowSession, screen string, payload map[string]any, copies int) ([]flowState, error) {
	answers := make([]endpointAnswer, copies)
	problems := make([]error, copies)
	request := w.flowRequest(s, "data_exchange", screen, payload)
	var all sync.WaitGroup
	for i := range copies {
		all.Go(func() { answers[i], problems[i] = w.askEndpoint(ctx, request) })
	}
	all.Wait()
	states := make([]flowState, copies)
	for i := copies - 1; i >= 0; i-- { // the first copy last: its screen stays
		if problems[i] != nil {
			return nil, problems[i]
		}
		var err error
		if states[i], err = w.takeAnswer(ctx, s, "data_exchange", screen, answers[i]); err != nil {
			return nil, err
		}
	}
	return states, nil
}

// navigate moves on without the endpoint: the payload is the next screen's data.
func (s *flowSession) navigate(next string, payload map[string]any) (flowState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flow.document.screen(next) == nil {
		return s.complaint(http.StatusOK, &clientError{code: errScreenTransition, message: fmt.Sprintf("there is no screen %q", next)}), nil
	}
	if failure := checkScreenData(s.flow.document.screen(next), payload); failure != nil {
		return s.complaint(http.StatusOK, failure), nil
	}
	s.show(next, payload)
	return s.state(http.StatusOK), nil
}

// backFlow goes back to an earlier screen: by the endpoint when the screen that is left asks for it, else natively.
func (w *World) backFlow(ctx context.Context, id, to string) (flowState, error) {
	s := w.sessions.get(id)
	if s == nil {
		return flowState{}, notFound("session_unknown", "there is no Flow session %q", id)
	}
	s.mu.Lock()
	left := s.current
	shown := s.flow.document.screen(left)
	if s.ended || shown == nil || s.data[to] == nil {
		s.mu.Unlock()
		return flowState{}, conflict("screen_not_shown", "the screen %q was not shown in this session", to)
	}
	if !shown.RefreshOnBack {
		s.current = to
		state := s.state(http.StatusOK)
		s.mu.Unlock()
		return state, nil
	}
	s.mu.Unlock()
	answer, err := w.askEndpoint(ctx, w.flowRequest(s, "BACK", left, nil))
	if err != nil {
		return flowState{}, err
	}
	return w.takeAnswer(ctx, s, "BACK", "", answer)
}
