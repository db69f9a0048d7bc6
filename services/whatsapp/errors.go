package whatsapp

import (
	"fmt"
	"strings"
	"time"

	"offrampbot/services/fault"
)

// Class is what an error of the API means for us. Decide on the class, never on titles or on the HTTP status: throttling
// comes with 400 (P40).
type Class string

// The classes, by what Meta's page on error codes says of each.
const (
	ClassToken          Class = "token"           // our token or its rights: stop sending, page
	ClassAccount        Class = "account"         // our account, number, registration or bill: stop sending, page
	ClassThrottleApp    Class = "throttle_app"    // whole app or account: everybody waits
	ClassThrottleNumber Class = "throttle_number" // our number: everybody waits
	ClassThrottlePair   Class = "throttle_pair"   // one person gets too much: only that person waits
	ClassQuality        Class = "quality"         // spam and marketing limits: do not hammer
	ClassTransient      Class = "transient"       // their trouble; the message may have been sent
	ClassWindow         Class = "window"          // 24 hours are over: only a template goes
	ClassRecipient      Class = "recipient"       // this person cannot be reached by this message, for good
	ClassRequest        Class = "request"         // our defect: park and page
	ClassMedia          Class = "media"           // upload again once
	ClassTemplate       Class = "template"        // the template is missing, paused or does not fit
	ClassFlow           Class = "flow"            // the Flow is blocked or throttled: use chat steps
	ClassUnknown        Class = "unknown"         // nobody told us what this is
)

// Advice is what to do about an error of a class.
type Advice struct {
	Retry     bool // the same message may be sent again, after a wait
	MaybeSent bool // it may have gone out: wait for a status before sending again
	Stop      bool // send nothing at all until a person or time has helped
	Page      bool // an operator must know
}

// AdviceFor gives what to do about a class. A class that is not known gives the careful one.
func AdviceFor(class Class) Advice {
	switch class {
	case ClassToken, ClassAccount:
		return Advice{Retry: true, Stop: true, Page: true}
	case ClassThrottleApp, ClassThrottleNumber, ClassThrottlePair, ClassMedia:
		return Advice{Retry: true}
	case ClassQuality:
		return Advice{Retry: true, Page: true}
	case ClassTransient:
		return Advice{Retry: true, MaybeSent: true}
	case ClassWindow, ClassRecipient, ClassFlow:
		return Advice{}
	case ClassRequest, ClassTemplate:
		return Advice{Page: true}
	case ClassUnknown:
		return Advice{MaybeSent: true, Page: true}
	}
	return Advice{MaybeSent: true, Page: true}
}

// codes are the classes of the documented codes; the ranges are in Classify.
var codes = map[int]Class{
	0: ClassToken, 3: ClassToken, 10: ClassToken, 190: ClassToken,
	368: ClassAccount, 131031: ClassAccount, 130497: ClassAccount, 131037: ClassAccount, 131042: ClassAccount,
	131044: ClassAccount, 131045: ClassAccount,
	4: ClassThrottleApp, 80007: ClassThrottleApp, 130429: ClassThrottleNumber, 131056: ClassThrottlePair,
	131048: ClassQuality, 131049: ClassQuality, 131064: ClassQuality,
	1: ClassTransient, 2: ClassTransient, 131000: ClassTransient, 131016: ClassTransient, 131057: ClassTransient,
	133004: ClassTransient,
	131047: ClassWindow,
	131026: ClassRecipient, 131030: ClassRecipient, 130472: ClassRecipient, 131050: ClassRecipient,
	131062: ClassRecipient, 131021: ClassRecipient, 137000: ClassRecipient,
	33: ClassRequest, 100: ClassRequest, 131005: ClassRequest, 131008: ClassRequest, 131009: ClassRequest,
	131051: ClassRequest, 131055: ClassRequest, 134011: ClassRequest, 135000: ClassRequest,
	131052: ClassMedia, 131053: ClassMedia,
	132000: ClassTemplate, 132001: ClassTemplate, 132005: ClassTemplate, 132007: ClassTemplate, 132008: ClassTemplate,
	132012: ClassTemplate, 132015: ClassTemplate, 132016: ClassTemplate, 132018: ClassTemplate,
	132068: ClassFlow, 132069: ClassFlow,
}

// CodeIdentityChanged says that the person's device identity is not the one we named: a possible take-over.
const CodeIdentityChanged = 137000

// Classify gives the class of an error code, as replies and statuses carry it.
func Classify(code int) Class {
	if class, ok := codes[code]; ok {
		return class
	}
	switch {
	case code >= 200 && code <= 299:
		return ClassToken
	case code >= 133000 && code <= 133016:
		return ClassAccount
	}
	return ClassUnknown
}

// Error is a call that did not succeed. MaybeSent means that the message may have gone out all the same: that is
// fault.Unknown, to be asked about by its status and never simply repeated.
type Error struct {
	Class      Class
	Code       int // of the API, zero when it gave none
	HTTP       int // zero when no answer came
	Details    string
	RetryAfter time.Duration // what the answer asked for, zero when it did not
	MaybeSent  bool
	Err        error
}

// Error implements error, without anything personal.
func (e *Error) Error() string {
	s := fmt.Sprintf("whatsapp: %s error %d, http %d", e.Class, e.Code, e.HTTP)
	if e.Details != "" {
		s += ": " + e.Details
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the kind of fault and the cause.
func (e *Error) Unwrap() []error {
	kind := fault.Invalid
	switch {
	case e.MaybeSent:
		kind = fault.Unknown
	case AdviceFor(e.Class).Retry:
		kind = fault.Unavailable
	}
	if e.Err == nil {
		return []error{kind}
	}
	return []error{kind, e.Err}
}

// maskNumbers hides phone numbers and ids that an answer's text may repeat.
func maskNumbers(s string) string {
	var b strings.Builder
	run := 0
	flush := func(digits string) {
		if run >= 7 {
			b.WriteString("…")
		} else {
			b.WriteString(digits)
		}
		run = 0
	}
	start := 0
	for i, r := range s {
		if r >= '0' && r <= '9' {
			if run == 0 {
				start = i
			}
			run++
			continue
		}
		if run > 0 {
			flush(s[start:i])
		}
		b.WriteRune(r)
	}
	if run > 0 {
		flush(s[start:])
	}
	return b.String()
}
