package whatsapp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// FlowPublisher puts Flow documents and the endpoint's public key to WhatsApp, and checks what must be set up for the
// endpoint to work. An operator's command drives it; nothing here runs while serving but Subscribed.
type FlowPublisher struct {
	client  *Client
	account string
}

// NewFlowPublisher makes a publisher for a WhatsApp Business Account, whose token is the client's.
func NewFlowPublisher(client *Client, accountID string) (*FlowPublisher, error) {
	if client == nil {
		return nil, errors.New("flow publisher: client is required")
	}
	if !isPhoneID(accountID) {
		return nil, errors.New("flow publisher: account id is not a number")
	}
	return &FlowPublisher{client: client, account: accountID}, nil
}

// FlowInfo is a Flow as WhatsApp has it. Status is DRAFT, PUBLISHED, THROTTLED, BLOCKED or DEPRECATED.
type FlowInfo struct {
	ID, Name, Status string
	EndpointURI      string
	JSONVersion      string
	DataAPIVersion   string
}

// FlowDocument is what Publish puts there. Name is unique in the account; safe practice is a version in it, like
// offramp_v3, because old chat bubbles keep the version they were sent with.
type FlowDocument struct {
	Name        string
	JSON        []byte
	EndpointURI string
	Categories  []string // default OTHER
}

// Publish finds the Flow of the document's name or creates it, uploads the document, sets the endpoint, and publishes.
// It is done when WhatsApp shows the Flow as published. Every step may be repeated. Errors: *ValidationError for the
// document, *Error for the API.
func (p *FlowPublisher) Publish(ctx context.Context, doc FlowDocument) (FlowInfo, error) {
	if doc.Name == "" || !json.Valid(doc.JSON) {
		return FlowInfo{}, errors.New("publish flow: name or document is missing")
	}
	info, err := p.Find(ctx, doc.Name)
	if err != nil {
		return FlowInfo{}, err
	}
	if info == nil {
		if info, err = p.create(ctx, doc); err != nil {
			return FlowInfo{}, err
		}
	}
	if err := p.setEndpoint(ctx, info.ID, doc); err != nil {
		return FlowInfo{}, err
	}
	if err := p.upload(ctx, info.ID, doc.JSON); err != nil {
		return FlowInfo{}, err
	}
	o, err := p.client.callJSON(ctx, request{method: http.MethodPost, path: "/" + info.ID + "/publish"}, nil)
	if err != nil {
		return FlowInfo{}, fmt.Errorf("publish flow: %w", err)
	}
	if err := succeeded(o, "publish flow"); err != nil {
		return FlowInfo{}, err
	}
	published, err := p.Get(ctx, info.ID)
	if err != nil {
		return FlowInfo{}, err
	}
	if published.Status != "PUBLISHED" {
		return FlowInfo{}, fmt.Errorf("publish flow: its status is %s", published.Status)
	}
	return published, nil
}

// pageLimit bounds how many pages of Flows are read.
const pageLimit = 50

// Find returns the Flow of a name, nil when there is none. Deprecated ones keep their name and are found too.
func (p *FlowPublisher) Find(ctx context.Context, name string) (*FlowInfo, error) {
	after := ""
	for range pageLimit {
		query := url.Values{"fields": {flowFields}, "limit": {"100"}}
		if after != "" {
			query.Set("after", after)
		}
		o, err := p.client.callJSON(ctx, request{method: http.MethodGet, path: "/" + p.account + "/flows", query: query}, nil)
		if err != nil {
			return nil, fmt.Errorf("find flow: %w", err)
		}
		for _, raw := range o.list("data") {
			if flow, err := asObject(raw); err == nil && flow.text("name") == name {
				info := flowInfo(flow)
				return &info, nil
			}
		}
		paging := o.object("paging")
		after = paging.object("cursors").text("after")
		if after == "" || !paging.has("next") {
			return nil, nil
		}
	}
	return nil, errors.New("find flow: too many pages")
}

const flowFields = "id,name,status,validation_errors,json_version,data_api_version,endpoint_uri"

func flowInfo(o object) FlowInfo {
	return FlowInfo{
		ID: o.text("id"), Name: o.text("name"), Status: o.text("status"), EndpointURI: o.text("endpoint_uri"),
		JSONVersion: o.text("json_version"), DataAPIVersion: o.text("data_api_version"),
	}
}

// Get reads a Flow. What WhatsApp holds against its document is a *ValidationError.
func (p *FlowPublisher) Get(ctx context.Context, id string) (FlowInfo, error) {
	o, err := p.client.callJSON(ctx, request{
		method: http.MethodGet, path: "/" + url.PathEscape(id), query: url.Values{"fields": {flowFields}},
	}, nil)
	if err != nil {
		return FlowInfo{}, fmt.Errorf("read flow: %w", err)
	}
	if err := validation(o); err != nil {
		return FlowInfo{}, err
	}
	return flowInfo(o), nil
}

func (p *FlowPublisher) create(ctx context.Context, doc FlowDocument) (*FlowInfo, error) {
	o, err := p.client.callJSON(ctx, request{method: http.MethodPost, path: "/" + p.account + "/flows"}, map[string]any{
		"name": doc.Name, "categories": doc.categories(), "endpoint_uri": doc.EndpointURI,
	})
	if err != nil {
		return nil, fmt.Errorf("create flow: %w", err)
	}
	if err := validation(o); err != nil {
		return nil, err
	}
	if !isPhoneID(o.text("id")) {
		return nil, errors.New("create flow: answer has no id")
	}
	return &FlowInfo{ID: o.text("id"), Name: doc.Name, Status: "DRAFT"}, nil
}

func (d FlowDocument) categories() []string {
	if len(d.Categories) == 0 {
		return []string{"OTHER"}
	}
	return d.Categories
}

func (p *FlowPublisher) setEndpoint(ctx context.Context, id string, doc FlowDocument) error {
	o, err := p.client.callJSON(ctx, request{method: http.MethodPost, path: "/" + id}, map[string]any{
		"name": doc.Name, "categories": doc.categories(), "endpoint_uri": doc.EndpointURI,
	})
	if err != nil {
		return fmt.Errorf("set endpoint of flow: %w", err)
	}
	return succeeded(o, "set endpoint of flow")
}

func (p *FlowPublisher) upload(ctx context.Context, id string, doc []byte) error {
	body, contentType, err := multipartBody(
		[][2]string{{"name", "flow.json"}, {"asset_type", "FLOW_JSON"}}, "flow.json", "application/json", doc)
	if err != nil {
		return err
	}
	o, err := p.client.callJSON(ctx, request{
		method: http.MethodPost, path: "/" + id + "/assets", body: body, contentType: contentType,
	}, nil)
	if err != nil {
		return fmt.Errorf("upload flow document: %w", err)
	}
	return succeeded(o, "upload flow document")
}

// PublicKey is the endpoint's key as WhatsApp has it. Status is VALID or MISMATCH.
type PublicKey struct {
	PEM    string
	Status string
}

// PublicKey reads the key of our number; an empty PEM means that there is none.
func (p *FlowPublisher) PublicKey(ctx context.Context) (PublicKey, error) {
	o, err := p.client.callJSON(ctx, request{method: http.MethodGet, path: p.keyPath()}, nil)
	if err != nil {
		return PublicKey{}, fmt.Errorf("read public key: %w", err)
	}
	for _, raw := range o.list("data") {
		if key, err := asObject(raw); err == nil {
			return PublicKey{
				PEM: key.text("business_public_key"), Status: key.text("business_public_key_signature_status"),
			}, nil
		}
	}
	return PublicKey{}, nil
}

// SetPublicKey uploads the public half of the endpoint's key for our number and reads it back: a Flow whose key differs
// from ours cannot be opened by anybody (P46). The key before it stays with us until every client has the new one.
func (p *FlowPublisher) SetPublicKey(ctx context.Context, pem []byte) error {
	form := url.Values{"business_public_key": {string(pem)}}
	o, err := p.client.callJSON(ctx, request{
		method: http.MethodPost, path: p.keyPath(), body: []byte(form.Encode()),
		contentType: "application/x-www-form-urlencoded",
	}, nil)
	if err != nil {
		return fmt.Errorf("upload public key: %w", err)
	}
	if err := succeeded(o, "upload public key"); err != nil {
		return err
	}
	stored, err := p.PublicKey(ctx)
	if err != nil {
		return err
	}
	if !bytes.Equal(bytes.TrimSpace([]byte(stored.PEM)), bytes.TrimSpace(pem)) || stored.Status != "VALID" {
		return fmt.Errorf("upload public key: it was not stored as given, its status is %s", strconv.Quote(stored.Status))
	}
	return nil
}

func (p *FlowPublisher) keyPath() string {
	return "/" + p.client.cfg.PhoneNumberID + "/whatsapp_business_encryption"
}

// Subscribed reports whether any app gets the account's webhooks. Without it the callback is verified and nothing ever
// arrives (P13).
func (p *FlowPublisher) Subscribed(ctx context.Context) (bool, error) {
	o, err := p.client.callJSON(ctx, request{method: http.MethodGet, path: "/" + p.account + "/subscribed_apps"}, nil)
	if err != nil {
		return false, fmt.Errorf("read subscribed apps: %w", err)
	}
	return len(o.list("data")) > 0, nil
}

// Subscribe makes the token's app get the account's webhooks; a repeat changes nothing.
func (p *FlowPublisher) Subscribe(ctx context.Context) error {
	o, err := p.client.callJSON(ctx, request{method: http.MethodPost, path: "/" + p.account + "/subscribed_apps"}, nil)
	if err != nil {
		return fmt.Errorf("subscribe to the account: %w", err)
	}
	return succeeded(o, "subscribe to the account")
}
