package whatsapp

import (
	"context"
	"time"

	"offrampbot/services/operation"
	"offrampbot/services/store"
)

// Messenger is what the sender needs of the client. A send is never repeated inside; errors are those of Client.Send.
type Messenger interface {
	Send(ctx context.Context, message Outgoing) (SendResult, error)
	UploadMedia(ctx context.Context, name, mime string, content []byte) (id string, err error)
	Timeout() time.Duration
}

// Texts is the catalogue of messages. Render never fails; a key that does not exist is asked about with Has first.
type Texts interface {
	Render(language, key string, args map[string]string) string
	Has(key string) bool
}

// Tokens makes the token of a Flow message from its session, the same each time.
type Tokens interface{ Token(session string) string }

// Pictures draws a picture when it is sent: kind "slip" for an order id, "qr" for an address. It may be repeated; an
// error means that the message waits and is tried again.
type Pictures interface {
	Render(ctx context.Context, kind, value string) (png []byte, mime string, err error)
}

// Alerts tells the operator, in the transaction of the effect. data holds ids and codes only.
type Alerts interface {
	Alert(tx store.Tx, kind, why string, data map[string]string) error
}

// Fallback replaces a Flow message that WhatsApp will not send by chat steps, in the transaction that closes the
// operation. It may run again with its transaction.
type Fallback interface {
	FlowRefused(tx store.Tx, op *operation.Operation, code int) error
}

// Pacer counts one send against a pace that all processes share and returns how long to wait before it may go; zero
// counts it and means now. It never fails: without its store it counts for this process alone.
type Pacer interface {
	Take(ctx context.Context, scope, id string, pace Pace) (wait time.Duration)
}

// Pace allows Rate sends per Period, of which up to Burst may go at once.
type Pace struct {
	Rate   int
	Period time.Duration
	Burst  int
}

// The kinds of alerts that the sender raises.
const (
	AlertStopped   = "whatsapp_stopped"   // token or account: nothing is sent
	AlertQuality   = "whatsapp_quality"   // WhatsApp throttles us for what we send
	AlertMessage   = "whatsapp_message"   // one message cannot be sent, for a defect of ours or of a template
	AlertUndecided = "whatsapp_undecided" // nobody knows whether a message was sent
	AlertIdentity  = "whatsapp_identity"  // a person's device identity changed
)
