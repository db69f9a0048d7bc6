// Package payouttest is the suite that every payout rail passes, against a scripted server: whatever the provider does
// to a call — loses the reply, answers HTML, repeats, contradicts itself — no answer may claim to know what it does not,
// and one reference is never paid twice. Only tests import it.
package payouttest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"offrampbot/services/money"
)

// Transfer is one transfer as the scripted provider keeps it; Status is in the provider's own words.
type Transfer struct {
	Reference string
	Amount    money.Minor
	Currency  string
	Account   string
	BankCode  string
	Status    string
}

// Reply is one answer of the provider.
type Reply struct {
	Status int
	Header http.Header
	Body   string
}

// Dialect is what the suite must know of a provider: how it names things, never what it means by them.
type Dialect interface {
	// Operation names what a request asks for: "transfer", "verify", or anything else, which Other answers.
	Operation(r *http.Request) string
	// ReadTransfer reads a request to pay; Status is the word for "on its way".
	ReadTransfer(r *http.Request, body []byte) Transfer
	// ReadVerify reads the reference that is asked for.
	ReadVerify(r *http.Request) string
	// Created and Found are the answers about a transfer that was made, and that is asked for.
	Created(t Transfer) Reply
	Found(t Transfer) Reply
	// NotFound, Duplicate, Broken and Limited are the provider's errors; Limited asks to wait seven seconds.
	NotFound() Reply
	Duplicate() Reply
	Broken() Reply
	Limited() Reply
	// Empty is the refusal for want of float.
	Empty() Reply
	// Other answers every other call, such as making a recipient.
	Other(r *http.Request, body []byte) Reply
	// Paid, Failed and Reversed are the provider's words.
	Paid() string
	Failed() string
	Reversed() string
	// Webhook is the signed callback about a transfer; Approval the signed question whether it may go out. key is the
	// secret to sign with.
	Webhook(t Transfer, key string) (body []byte, header http.Header)
	Approval(t Transfer, key string) (body []byte, header http.Header)
}

// Server is the scripted provider and its truth.
type Server struct {
	*httptest.Server
	dialect Dialect
	reached chan struct{} // a call hangs

	mu        sync.Mutex
	transfers map[string]*Transfer
	paid      map[string]int // how often a reference was taken for a new transfer
	calls     map[string]int
	faults    map[string][]string
}

// newServer starts a provider that knows no transfer.
func newServer(t *testing.T, d Dialect) *Server {
	t.Helper()
	s := &Server{
		dialect: d, reached: make(chan struct{}, 1), transfers: map[string]*Transfer{}, paid: map[string]int{},
		calls: map[string]int{}, faults: map[string][]string{},
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

// script makes the next calls of an operation end in these ways, "" being an honest answer.
func (s *Server) script(operation string, kinds ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[operation] = append(s.faults[operation], kinds...)
}

// settle gives a transfer a status.
func (s *Server) settle(reference, status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.transfers[reference].Status = status
}

// put plants a transfer.
func (s *Server) put(t Transfer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.transfers[t.Reference] = &t
	s.paid[t.Reference]++
}

// made is how often a reference became a transfer.
func (s *Server) made(reference string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paid[reference]
}

// called is how many calls of an operation came.
func (s *Server) called(operation string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[operation]
}

// next takes the next scripted ending of an operation.
func (s *Server) next(operation string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[operation]++
	if len(s.faults[operation]) == 0 {
		return ""
	}
	kind := s.faults[operation][0]
	s.faults[operation] = s.faults[operation][1:]
	return kind
}

// serve answers one call as scripted.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	operation := s.dialect.Operation(r)
	kind := s.next(operation)
	if s.before(w, r, kind) {
		return
	}
	var reply Reply
	switch operation {
	case "transfer":
		reply = s.transfer(s.dialect.ReadTransfer(r, body), kind)
	case "verify":
		reply = s.verify(s.dialect.ReadVerify(r), kind)
	default:
		reply = s.dialect.Other(r, body)
	}
	s.after(w, reply, kind)
}

// before is a fault without effect; done means that the call is over.
func (s *Server) before(w http.ResponseWriter, r *http.Request, kind string) (done bool) {
	switch kind {
	case "hang":
		s.reached <- struct{}{}
		<-r.Context().Done()
	case "reset":
		drop(w, true)
	case "http_500":
		write(w, s.dialect.Broken())
	case "http_502":
		write(w, Reply{Status: http.StatusBadGateway, Body: "<html><h1>502 Bad Gateway</h1></html>"})
	case "html":
		write(w, Reply{Status: http.StatusOK, Body: "<!doctype html><html><body>success</body></html>"})
	case "html_404":
		write(w, Reply{Status: http.StatusNotFound, Body: "<html><h1>Transfer not found</h1></html>"})
	case "bare_404":
		write(w, Reply{Status: http.StatusNotFound, Body: `{"status":false,"message":"Cannot GET this route"}`})
	case "rate_limited":
		write(w, s.dialect.Limited())
	case "float_empty":
		write(w, s.dialect.Empty())
	case "redirect":
		write(w, Reply{Status: http.StatusFound, Header: http.Header{"Location": {"/elsewhere"}}})
	default:
		return false
	}
	return true
}

// after writes an answer, spoilt as scripted; the effect has happened.
func (s *Server) after(w http.ResponseWriter, reply Reply, kind string) {
	switch kind {
	case "lost_reply":
		drop(w, false)
	case "reset_after":
		drop(w, true)
	case "http_500_after":
		write(w, s.dialect.Broken())
	case "empty":
		write(w, Reply{Status: http.StatusOK})
	case "null":
		write(w, Reply{Status: http.StatusOK, Body: "null"})
	case "list":
		write(w, Reply{Status: http.StatusOK, Body: "[" + reply.Body + "]"})
	case "cut":
		w.Header().Set("Content-Length", strconv.Itoa(len(reply.Body)))
		w.WriteHeader(reply.Status)
		_, _ = io.WriteString(w, reply.Body[:len(reply.Body)/2])
	case "cut_json":
		write(w, Reply{Status: reply.Status, Body: reply.Body[:len(reply.Body)-2]})
	case "twice":
		write(w, Reply{Status: reply.Status, Body: reply.Body + reply.Body})
	case "accepted_202":
		write(w, Reply{Status: http.StatusAccepted, Body: reply.Body})
	case "huge":
		write(w, Reply{Status: reply.Status, Body: strings.Repeat(" ", 8<<20) + reply.Body})
	default:
		write(w, reply)
	}
}

// transfer makes a transfer once.
func (s *Server) transfer(t Transfer, kind string) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.transfers[t.Reference]; known {
		return s.dialect.Duplicate()
	}
	s.transfers[t.Reference] = &t
	s.paid[t.Reference]++
	return s.dialect.Created(spoil(t, kind))
}

// verify shows a transfer.
func (s *Server) verify(reference, kind string) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, known := s.transfers[reference]
	if !known || kind == "not_found" {
		return s.dialect.NotFound()
	}
	return s.dialect.Found(spoil(*t, kind))
}

// spoil changes what an answer says.
func spoil(t Transfer, kind string) Transfer {
	switch kind {
	case "wrong_amount":
		t.Amount++
	case "wrong_reference":
		t.Reference = "other-" + t.Reference
	case "wrong_currency":
		t.Currency = "GHS"
	}
	if word, ok := strings.CutPrefix(kind, "status:"); ok {
		t.Status = word
	}
	return t
}

// write sends an answer.
func write(w http.ResponseWriter, r Reply) {
	for name, values := range r.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(r.Status)
	_, _ = io.WriteString(w, r.Body) // the client may be gone
}

// drop ends the connection without an answer, with a reset or as if the other side had closed it.
func drop(w http.ResponseWriter, isReset bool) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok && isReset {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
