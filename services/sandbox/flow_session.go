package sandbox

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"
)

// flowSession is one Flow that is open on a phone.
type flowSession struct {
	mu       sync.Mutex
	id       string
	key      string // whose phone
	wamid    string // the message it was opened from
	token    string
	flow     openFlow
	current  string                    // the screen that shows, "" before the first and after the last
	data     map[string]map[string]any // of each screen that was shown
	forms    map[string]map[string]any // what was typed on each screen
	answered time.Time                 // when a footer was tapped last that asks the endpoint
	ended    bool
}

// flowState is the answer of a step: what the client now shows.
type flowState struct {
	Session    string         `json:"session"`
	HTTPStatus int            `json:"http_status"`
	Screen     string         `json:"screen"`
	Data       map[string]any `json:"data"`
	Ended      bool           `json:"ended,omitempty"`
	Wamid      string         `json:"wamid,omitempty"` // the chat message that ended the Flow
	Deliveries []delivery     `json:"deliveries,omitempty"`
	Error      string         `json:"error,omitempty"` // the client's complaint
	Message    string         `json:"message,omitempty"`
	View       *flowView      `json:"view,omitempty"`
}

// flowView is what the phone page draws.
type flowView struct {
	Flow     string         `json:"flow"`
	Title    string         `json:"title"`
	Terminal bool           `json:"terminal"`
	Layout   map[string]any `json:"layout"`
}

// sessions are the open Flows of all phones.
type sessions struct {
	mu   sync.Mutex
	byID map[string]*flowSession
}

func (s *sessions) put(f *flowSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID[f.id] = f
}

func (s *sessions) get(id string) *flowSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id]
}

// bindings are what ${…} reaches on a screen. The caller holds the session's lock.
func (s *flowSession) bindings(screen string) bindings {
	return bindings{
		data: s.data[screen], form: s.forms[screen],
		other: func(id, kind, name string) any {
			if kind == "form" {
				return s.forms[id][name]
			}
			return s.data[id][name]
		},
	}
}

// fill computes a footer's payload: what the caller typed wins, everything else comes from the Flow's own bindings.
// given holds payload keys, or names of the screen's inputs. The caller holds the session's lock.
func (s *flowSession) fill(screen *flowScreen, action flowAction, given map[string]any) map[string]any {
	form := screen.emptyForm(s.bindings(screen.ID))
	used := make(map[string]bool)
	for key, template := range action.payload {
		name, isForm := formName(template)
		if value, found := given[key]; found && isForm {
			form[name] = value
			used[key] = true
		}
		if value, found := given[name]; found && isForm {
			form[name] = value
			used[name] = true
		}
	}
	s.forms[screen.ID] = form
	b := s.bindings(screen.ID)
	payload := make(map[string]any)
	for key, template := range action.payload {
		payload[key] = b.resolve(template)
		if payload[key] == nil {
			delete(payload, key)
		}
	}
	for key, value := range given {
		_, known := action.payload[key]
		if known || !used[key] {
			payload[key] = value
		}
	}
	return payload
}

// formName is x in a whole-value binding ${form.x}.
func formName(template any) (string, bool) {
	s, ok := template.(string)
	if !ok || len(s) < len("${form.x}") || s[:7] != "${form." || s[len(s)-1] != '}' {
		return "", false
	}
	return s[7 : len(s)-1], true
}

// show moves the session to a screen with its data. The caller holds the session's lock.
func (s *flowSession) show(screen string, data map[string]any) {
	s.current = screen
	s.data[screen] = data
}

func (s *flowSession) state(status int) flowState {
	data := s.data[s.current]
	if data == nil {
		data = map[string]any{}
	}
	return flowState{Session: s.id, HTTPStatus: status, Screen: s.current, Data: maps.Clone(data), Ended: s.ended}
}

func (s *flowSession) view(screen string) *flowView {
	shown := s.flow.document.screen(screen)
	if shown == nil {
		return nil
	}
	return &flowView{Flow: s.flow.name, Title: shown.Title, Terminal: shown.Terminal, Layout: shown.Layout}
}

// openFlowOn opens the Flow of a message on its phone: INIT for data_exchange, the message's own screen for navigate.
func (w *World) openFlowOn(ctx context.Context, key, wamid string) (flowState, error) {
	m, found := w.people.find(key, wamid)
	if !found || m.Flow == nil {
		return flowState{}, notFound("flow_unknown", "%s holds no Flow message %q", key, wamid)
	}
	opened, found := w.flows.published(m.Flow.ID, "", false)
	if !found {
		if opened, found = w.flows.published(m.Flow.ID, "", true); !found {
			return flowState{}, notFound("flow_unknown", "the Flow %q is no longer there", m.Flow.Name)
		}
	}
	s := &flowSession{
		id: "fs_" + w.mint.hex("session", 24), key: key, wamid: wamid, token: m.Flow.Token, flow: opened,
		data: make(map[string]map[string]any), forms: make(map[string]map[string]any),
	}
	w.sessions.put(s)
	w.hub.tell(event{Kind: "flow", Phone: key, ID: s.id, Text: "opened"})
	if m.Flow.Action == "navigate" {
		data := m.Flow.Data
		if data == nil {
			data = map[string]any{}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if failure := checkScreenData(opened.document.screen(m.Flow.Screen), data); failure != nil {
			return s.complaint(http.StatusOK, failure), nil
		}
		s.show(m.Flow.Screen, data)
		return s.state(http.StatusOK), nil
	}
	answer, err := w.askEndpoint(ctx, w.flowRequest(s, "INIT", "", nil))
	if err != nil {
		return flowState{}, err
	}
	return w.takeAnswer(ctx, s, "INIT", "", answer)
}

// complaint is a state with the client's error. The caller holds the session's lock.
func (s *flowSession) complaint(status int, failure *clientError) flowState {
	state := s.state(status)
	state.Error, state.Message = failure.code, failure.message
	return state
}

// takeAnswer does with an answer what the client does: shows the screen, ends the Flow on SUCCESS, disables the button
// on 427, and complains to the endpoint about data or a screen that the document does not allow.
func (w *World) takeAnswer(ctx context.Context, s *flowSession, action, from string, answer endpointAnswer) (flowState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if answer.status == 427 {
		w.people.amend(s.wamid, func(m *chatMessage) { m.Flow.Closed = true })
		w.hub.tell(event{Kind: "flow", Phone: s.key, ID: s.id, Text: "closed"})
	}
	if answer.status != http.StatusOK {
		return flowState{Session: s.id, HTTPStatus: answer.status, Screen: "", Data: answer.data}, nil
	}
	failure := answer.failure
	if failure == nil && answer.screen == "SUCCESS" {
		return w.finish(ctx, s, answer)
	}
	if failure == nil && !s.flow.document.mayFollow(from, answer.screen) {
		failure = &clientError{code: errScreenTransition, message: fmt.Sprintf("%q may not follow %q", answer.screen, from)}
	}
	if failure == nil {
		failure = checkScreenData(s.flow.document.screen(answer.screen), answer.data)
	}
	if failure != nil {
		w.notifyEndpoint(ctx, s, action, from, failure)
		state := s.complaint(answer.status, failure)
		state.Screen, state.Data = answer.screen, answer.data
		return state, nil
	}
	s.show(answer.screen, answer.data)
	w.hub.tell(event{Kind: "flow", Phone: s.key, ID: s.id, Text: answer.screen})
	return s.state(answer.status), nil
}

// notifyEndpoint tells the endpoint what the client could not use; its answer does not matter to the client.
func (w *World) notifyEndpoint(ctx context.Context, s *flowSession, action, screen string, failure *clientError) {
	notice := w.flowRequest(s, action, screen, map[string]any{"error": failure.code, "error_message": failure.message})
	if _, err := w.askEndpoint(ctx, notice); err != nil {
		w.cfg.Log.WarnContext(ctx, "flow error notice not sent", "error", err)
	}
}

// finish ends a Flow that the endpoint answered with SUCCESS: the client sends the chat message with params.
func (w *World) finish(ctx context.Context, s *flowSession, answer endpointAnswer) (flowState, error) {
	extension, _ := answer.data["extension_message_response"].(map[string]any)
	params, _ := extension["params"].(map[string]any)
	if text(params["flow_token"]) == "" {
		failure := schemaError("SUCCESS: extension_message_response.params.flow_token is missing")
		return s.complaint(answer.status, failure), nil
	}
	state := flowState{Session: s.id, HTTPStatus: answer.status, Screen: "SUCCESS", Data: answer.data, Ended: true}
	if s.ended { // another copy of the same submission has ended it
		return state, nil
	}
	return w.closeFlow(ctx, s, state, params, 1)
}

// closeFlow sends the chat message that ends a Flow. The caller holds the session's lock.
func (w *World) closeFlow(ctx context.Context, s *flowSession, state flowState, params map[string]any, copies int) (flowState, error) {
	s.ended = true
	message, err := w.flowReply(s.key, w.mint.wamid(), s.wamid, params)
	if err != nil {
		return flowState{}, err
	}
	if !s.answered.IsZero() {
		at := s.answered
		message.bubble.Answered = &at
	}
	state.Wamid = message.wamid
	if state.Deliveries, err = w.sendFromPhone(ctx, message, copies); err != nil {
		return flowState{}, err
	}
	w.hub.tell(event{Kind: "flow", Phone: s.key, ID: s.id, Text: "ended"})
	return state, nil
}
