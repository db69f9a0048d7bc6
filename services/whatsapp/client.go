package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"
)

// Config says how to reach the Graph API.
type Config struct {
	GraphURL      string        // https://graph.facebook.com; a last path element like v25.0 overrides Version
	Version       string        // default v25.0; versions live about two years
	PhoneNumberID string        // our number
	Token         string        // system-user token
	Timeout       time.Duration // of one call, all of it; default 10 s, at most 15 s
	MediaHosts    []string      // hosts besides the Graph's own that media may be fetched from; default Meta's
}

// LogValue keeps the token out of logs.
func (c Config) LogValue() slog.Value {
	return slog.GroupValue(slog.String("graph_url", c.GraphURL), slog.String("phone_number_id", c.PhoneNumberID),
		slog.Bool("token_set", c.Token != ""))
}

const (
	defaultVersion = "v25.0"
	defaultTimeout = 10 * time.Second
	maxTimeout     = 15 * time.Second
)

// defaultMediaHosts is where Meta keeps what people send.
func defaultMediaHosts() []string { return []string{"lookaside.fbsbx.com"} }

var versionSegment = regexp.MustCompile(`^v[0-9]+\.[0-9]+$`)

// Client is the thin client: messages, read marks, media. It never repeats a call by itself.
type Client struct {
	cfg   Config
	base  string   // GraphURL with version, no trailing slash
	graph *url.URL // of base
	http  *http.Client
}

// New makes a client over transport, which carries the connections (its limits and TLS are the caller's).
func New(transport http.RoundTripper, cfg Config) (*Client, error) {
	if transport == nil {
		return nil, errors.New("whatsapp client: transport is required")
	}
	if cfg.Version == "" {
		cfg.Version = defaultVersion
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.MediaHosts == nil {
		cfg.MediaHosts = defaultMediaHosts()
	}
	var problems []error
	graph, err := url.Parse(strings.TrimRight(cfg.GraphURL, "/"))
	if err != nil || (graph.Scheme != "https" && graph.Scheme != "http") || graph.Host == "" || graph.User != nil {
		problems = append(problems, errors.New("whatsapp client: GraphURL is not an http URL"))
		graph = &url.URL{}
	}
	if !versionSegment.MatchString(cfg.Version) {
		problems = append(problems, errors.New("whatsapp client: Version is not like v25.0"))
	}
	if !isPhoneID(cfg.PhoneNumberID) {
		problems = append(problems, errors.New("whatsapp client: PhoneNumberID is not a number"))
	}
	if cfg.Token == "" {
		problems = append(problems, errors.New("whatsapp client: Token is empty"))
	}
	if cfg.Timeout < 0 || cfg.Timeout > maxTimeout {
		problems = append(problems, fmt.Errorf("whatsapp client: Timeout is not within %s", maxTimeout))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	if !versionSegment.MatchString(path.Base(graph.Path)) {
		graph = graph.JoinPath(cfg.Version)
	}
	return &Client{cfg: cfg, base: graph.String(), graph: graph, http: newHTTP(transport)}, nil
}

// Timeout is the total time that one call may take.
func (c *Client) Timeout() time.Duration { return c.cfg.Timeout }

// SendResult is an accepted message. Accepted is not delivered: a failure may still come as a status.
type SendResult struct {
	Wamid    string
	WaID     string // phone id as WhatsApp has it; may differ from what was given (P36)
	ScopedID string
}

// Send hands one message to WhatsApp. The API has no idempotency key, so a call is never repeated here. Errors:
// ErrOutgoing when the message itself cannot be sent, else *Error; with MaybeSent the message may have gone out, and
// only a status with its CallbackData tells.
func (c *Client) Send(ctx context.Context, message Outgoing) (SendResult, error) {
	body, err := message.payload()
	if err != nil {
		return SendResult{}, err
	}
	o, err := c.callJSON(ctx, request{method: http.MethodPost, path: "/" + c.cfg.PhoneNumberID + "/messages"}, body)
	if err != nil {
		return SendResult{}, err
	}
	var result SendResult
	if list := o.list("messages"); len(list) > 0 {
		if sent, err := asObject(list[0]); err == nil {
			result.Wamid = sent.text("id")
		}
	}
	if result.Wamid == "" || len(result.Wamid) > maxID {
		return SendResult{}, &Error{
			Class: ClassTransient, HTTP: http.StatusOK, MaybeSent: true, Err: errors.New("answer has no message id"),
		}
	}
	if list := o.list("contacts"); len(list) > 0 {
		if contact, err := asObject(list[0]); err == nil {
			result.WaID, result.ScopedID = splitIDs(contact.text("wa_id"), contact.text("user_id"))
		}
	}
	return result, nil
}

// readMark is the body of MarkRead.
type readMark struct {
	Product   string           `json:"messaging_product"`
	Status    string           `json:"status"`
	MessageID string           `json:"message_id"`
	Typing    *typingIndicator `json:"typing_indicator,omitempty"`
}

type typingIndicator struct {
	Type string `json:"type"`
}

// MarkRead shows the blue ticks on an inbound message and, with typing, the typing sign until our next message or for
// 25 seconds. It is a courtesy: its failure is no reason to do anything.
func (c *Client) MarkRead(ctx context.Context, wamid string, typing bool) error {
	mark := readMark{Product: "whatsapp", Status: "read", MessageID: wamid}
	if typing {
		mark.Typing = &typingIndicator{Type: "text"}
	}
	_, err := c.callJSON(ctx, request{method: http.MethodPost, path: "/" + c.cfg.PhoneNumberID + "/messages"}, mark)
	return err
}
