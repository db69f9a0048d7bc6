package flows

import (
	"context"
	"errors"

	"offrampbot/services/fault"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// People signs people up.
type People interface {
	SignUp(ctx context.Context, userID, name string, pin user.TypedPIN) (*user.User, error)
}

// SignUp answers the sign-up form: name and PIN twice, the country from the number.
type SignUp struct {
	engine store.Engine
	people People
	texts  Texts
	// countryName is the name of a country for people.
	countryName func(code string) string
}

// NewSignUp checks its dependencies.
func NewSignUp(engine store.Engine, people People, texts Texts, countryName func(code string) string) (*SignUp, error) {
	if engine == nil || people == nil || texts == nil || countryName == nil {
		return nil, errors.New("sign-up form: engine, people, texts and country names are required")
	}
	return &SignUp{engine, people, texts, countryName}, nil
}

// The screens of the sign-up form.
const (
	PersonalInfo = "PERSONAL_INFO"
	SecurityInfo = "SECURITY_INFO"
	SignedUp     = "SUCCESSFUL"
)

// Acts is true for the second screen: it chooses the PIN and makes the account.
func (f *SignUp) Acts(r Request) bool { return r.Action == ActionExchange && r.Screen == SecurityInfo }

// Init shows the form; somebody who has signed up sees its end.
func (f *SignUp) Init(ctx context.Context, s *Session) (Answer, error) {
	u, err := f.load(ctx, s)
	if err != nil {
		return Answer{}, err
	}
	if u.Status == user.Active {
		return f.done(u), nil
	}
	return f.form(u, s, nil), nil
}

// Back shows the form again.
func (f *SignUp) Back(ctx context.Context, s *Session, _ Request) (Answer, error) {
	return f.Init(ctx, s)
}

// Submit signs the person up. A second copy of the form changes nothing.
func (f *SignUp) Submit(ctx context.Context, s *Session, r Request) (Answer, error) {
	u, err := f.load(ctx, s)
	if err != nil {
		return Answer{}, err
	}
	if s.Values == nil {
		s.Values = map[string]string{}
	}
	switch {
	case u.Status == user.Active && r.Screen == SecurityInfo:
		return f.done(u), nil
	case u.Status == user.Active: // signed up meanwhile, by another copy of the form
		return f.form(u, s, f.sayer(u).problem("flow.signed_up.already", "", "", nil)), nil
	case r.Screen == SecurityInfo && s.HasShown(SecurityInfo):
		return f.choosePIN(ctx, u, s, r)
	case r.Screen == PersonalInfo:
		return f.takeName(u, s, r), nil
	default: // a person cannot be there
		return f.form(u, s, nil), nil
	}
}

// takeName keeps the name, checked, for the second screen.
func (f *SignUp) takeName(u *user.User, s *Session, r Request) Answer {
	name, _ := r.Field("full_name")
	clean, err := user.CleanName(name)
	if err != nil {
		s.Values["name"] = foreign(name, maxName) // shown again, to be corrected; it is checked once more before it is used
		return f.form(u, s, f.say(u, err, "full_name"))
	}
	s.Values["name"] = clean
	return f.security(u, nil)
}

// choosePIN makes the account. Neither PIN is ever sent back.
func (f *SignUp) choosePIN(ctx context.Context, u *user.User, s *Session, r Request) (Answer, error) {
	pin, _ := r.Field("pin")
	again, _ := r.Field("confirm_pin")
	if pin != again {
		return f.security(u, f.say(u, fault.New("pin_differs", nil), "confirm_pin")), nil
	}
	done, err := f.people.SignUp(ctx, s.User, s.Values["name"], user.TypedPIN(pin))
	if err == nil {
		return f.done(done), nil
	}
	if fault.As(err).Kind == fault.Internal {
		return Answer{}, err
	}
	return f.security(u, f.say(u, err, "pin")), nil
}

// Repeat leaves copies to the ordinary rule: the same answer again.
func (f *SignUp) Repeat(context.Context, *Session, Request) (Answer, bool, error) {
	return Answer{}, false, nil
}

func (f *SignUp) load(ctx context.Context, s *Session) (u *user.User, err error) {
	err = f.engine.View(ctx, func(_ context.Context, r store.Reader) error {
		u, err = user.Load(r, s.User)
		return err
	})
	if fault.Is(err, "user_unknown") {
		return nil, ErrTokenGone
	}
	return u, err
}

// sayer speaks a person's language.
func (f *SignUp) sayer(u *user.User) sayer { return sayer{f.texts, u.Language} }

func (f *SignUp) say(u *user.User, err error, field string) *problem {
	v := fault.As(err)
	return f.sayer(u).fault(v, field, v.Args)
}

func (f *SignUp) form(u *user.User, s *Session, p *problem) Answer {
	name := s.Values["name"]
	if name == "" {
		name = foreign(u.Name, maxName)
	}
	say := f.sayer(u)
	data := map[string]any{
		"welcome_text": say.text("flow.welcome", nil),
		"country":      say.text("flow.country", map[string]string{"country": f.countryName(u.Country)}),
		// One language so far: texts in others make a list here, and the choice goes to the user service.
		"full_name": name, "language": "en", "languages": []Option{{ID: "en", Title: "English"}},
	}
	return Answer{Screen: PersonalInfo, Data: errorsOf(data, p, "full_name", "language"), entry: true, passing: p != nil}
}

func (f *SignUp) security(u *user.User, p *problem) Answer {
	data := map[string]any{"pin_text": f.sayer(u).text("flow.pin", nil)}
	return Answer{Screen: SecurityInfo, Data: errorsOf(data, p, "pin", "confirm_pin"), passing: p != nil}
}

func (f *SignUp) done(u *user.User) Answer {
	say := f.sayer(u)
	return Answer{Screen: SignedUp, Submitted: true, Data: errorsOf(map[string]any{
		"heading": say.text("flow.signed_up", map[string]string{"name": short(foreign(u.Name, maxName), 40)}),
		"message": say.text("flow.signed_up.next", nil),
	}, nil)}
}
