package sandbox

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// button is a reply button or a template's quick-reply button in a chat.
type button struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// row is one choice of a list.
type row struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	Section     string `json:"section,omitempty"`
}

// link is the button of a cta_url message.
type link struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// mediaRef is a picture or file in a chat; URL serves it without a token to the phone page.
type mediaRef struct {
	ID       string `json:"id"`
	URL      string `json:"url"`
	MimeType string `json:"mime_type,omitempty"`
}

// flowButton is the button of a Flow message: what the client needs to open it.
type flowButton struct {
	ID     string         `json:"id"`
	Name   string         `json:"name"`
	Token  string         `json:"token"`
	CTA    string         `json:"cta"`
	Action string         `json:"action"`
	Screen string         `json:"screen,omitempty"`
	Data   map[string]any `json:"data,omitempty"`
	Closed bool           `json:"closed"` // the endpoint answered 427: the button is disabled
}

// chatMessage is one bubble of a chat. Text is the body, or the caption of a picture.
type chatMessage struct {
	Direction string      `json:"direction"` // in: from the person to the bot; out: from the bot
	Wamid     string      `json:"wamid"`
	Type      string      `json:"type"`
	Text      string      `json:"text"`
	Header    string      `json:"header,omitempty"`
	Footer    string      `json:"footer,omitempty"`
	Buttons   []button    `json:"buttons"`
	Rows      []row       `json:"rows"`
	RowsLabel string      `json:"rows_label,omitempty"` // what the button that opens the list says
	Flow      *flowButton `json:"flow,omitempty"`
	Link      *link       `json:"link,omitempty"`
	Media     *mediaRef   `json:"media,omitempty"`
	Context   string      `json:"context,omitempty"`
	Answered  *time.Time  `json:"answered_at,omitempty"` // of a Flow's response: when its last question was answered
	Status    string      `json:"status,omitempty"`      // out: sent, delivered, read, failed; in: read once the bot marked it
	At        time.Time   `json:"at"`
}

// person is one WhatsApp user. The key is the phone number, or the business-scoped id of somebody without one.
type person struct {
	key      string
	phone    string // "" for a user known by business-scoped id only
	bsuid    string
	name     string
	messages []*chatMessage
	lastIn   time.Time   // opens the 24-hour window
	sends    []time.Time // the bot's last messages, for the pair limit
}

// people holds every person and chat.
type people struct {
	mu      sync.Mutex
	seed    string
	byKey   map[string]*person
	byBSUID map[string]*person
	byWamid map[string]*chatMessage
	owner   map[string]*person // wamid → whose chat
	in, out int
}

func newPeople(seed string) *people {
	return &people{
		seed: seed, byKey: make(map[string]*person), byBSUID: make(map[string]*person),
		byWamid: make(map[string]*chatMessage), owner: make(map[string]*person),
	}
}

var (
	bsuidPattern = regexp.MustCompile(`^[A-Z]{2}\.[A-Za-z0-9.]{1,128}$`)
	phonePattern = regexp.MustCompile(`^[1-9][0-9]{6,14}$`)
	notADigit    = regexp.MustCompile(`[^0-9]`)
)

// personKey brings a phone number into WhatsApp's form (digits, no +) and leaves a business-scoped id alone.
func personKey(raw string) (string, error) {
	raw = strings.TrimSpace(raw)
	if bsuidPattern.MatchString(raw) {
		return raw, nil
	}
	digits := notADigit.ReplaceAllString(raw, "")
	if !phonePattern.MatchString(digits) || strings.ContainsAny(raw, "abcdefghijklmnopqrstuvwxyz") {
		return "", fmt.Errorf("%q is not a phone number of 7 to 15 digits", raw)
	}
	return digits, nil
}

// known returns the person of a phone number or business-scoped id, nil for none. The caller holds the lock.
func (p *people) known(key string) *person {
	if who := p.byKey[key]; who != nil {
		return who
	}
	return p.byBSUID[key]
}

// ensure returns the person of a key and makes one on first sight. The caller holds the lock.
func (p *people) ensure(key string) *person {
	if who := p.known(key); who != nil {
		return who
	}
	who := &person{key: key, name: p.nameOf(key)}
	if bsuidPattern.MatchString(key) {
		who.bsuid = key
	} else {
		who.phone = key
		who.bsuid = countryOf(key) + "." + bsuidDigits(digestOf(p.seed, "bsuid", key))
	}
	p.byKey[key], p.byBSUID[who.bsuid] = who, who
	return who
}

// profile is what a webhook says about a person.
type profile struct{ key, phone, bsuid, name string }

// record adds a message to a chat, once per wamid, and reports whether it is new.
func (p *people) record(key string, m chatMessage, opensWindow bool) (profile, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	who := p.ensure(key)
	about := profile{key: who.key, phone: who.phone, bsuid: who.bsuid, name: who.name}
	if opensWindow && m.Direction == "in" {
		who.lastIn = m.At
	}
	if p.byWamid[m.Wamid] != nil {
		return about, false
	}
	if m.Buttons == nil {
		m.Buttons = []button{}
	}
	if m.Rows == nil {
		m.Rows = []row{}
	}
	kept := &m
	who.messages = append(who.messages, kept)
	p.byWamid[m.Wamid], p.owner[m.Wamid] = kept, who
	if m.Direction == "in" {
		p.in++
	} else {
		p.out++
	}
	return about, true
}

// chat returns a copy of a person's messages, oldest first.
func (p *people) chat(key string) []chatMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := []chatMessage{}
	who := p.known(key)
	if who == nil {
		return out
	}
	for _, m := range who.messages {
		out = append(out, m.copy())
	}
	return out
}

func (m *chatMessage) copy() chatMessage {
	c := *m
	if m.Flow != nil {
		flow := *m.Flow
		c.Flow = &flow
	}
	return c
}

// find returns a message of a person by its wamid.
func (p *people) find(key, wamid string) (chatMessage, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m, who := p.byWamid[wamid], p.owner[wamid]
	if m == nil || (who.key != key && who.bsuid != key) {
		return chatMessage{}, false
	}
	return m.copy(), true
}

// amend changes a recorded message under the lock; it reports whether there is one.
func (p *people) amend(wamid string, change func(m *chatMessage)) (key string, found bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.byWamid[wamid]
	if m == nil {
		return "", false
	}
	change(m)
	return p.owner[wamid].key, true
}

// choice finds the newest message of the bot that offers a button or row with this id; with a context only that message.
func (p *people) choice(key, id, context string, rows bool) (title, description, wamid, kind string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	who := p.known(key)
	if who == nil {
		return id, "", context, ""
	}
	for i := len(who.messages) - 1; i >= 0; i-- {
		m := who.messages[i]
		if m.Direction != "out" || (context != "" && m.Wamid != context) {
			continue
		}
		for _, b := range m.Buttons {
			if !rows && b.ID == id {
				return b.Title, "", m.Wamid, m.Type
			}
		}
		for _, r := range m.Rows {
			if rows && r.ID == id {
				return r.Title, r.Description, m.Wamid, m.Type
			}
		}
	}
	return id, "", context, ""
}

func (p *people) counts() (persons, in, out int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.byKey), p.in, p.out
}

// countryOf names the country of a phone number, for its business-scoped id only.
func countryOf(phone string) string {
	for prefix, country := range map[string]string{"234": "NG", "233": "GH", "254": "KE", "27": "ZA", "44": "GB", "91": "IN"} {
		if strings.HasPrefix(phone, prefix) {
			return country
		}
	}
	return "US"
}

func bsuidDigits(sum []byte) string {
	return fmt.Sprintf("7%09d%010d", binary.BigEndian.Uint32(sum)%1_000_000_000, binary.BigEndian.Uint64(sum[8:])%10_000_000_000)
}
