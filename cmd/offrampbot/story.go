package main

import (
	"context"

	"offrampbot/services/admin"
	"offrampbot/services/fault"
)

type noStory struct{}

func newStory(*app) (noStory, error) { return noStory{}, nil }

func (noStory) List(context.Context, admin.List, admin.Query) (admin.Page, error) {
	return admin.Page{}, fault.New("internal", nil)
}
func (noStory) Order(context.Context, string) (any, error) { return nil, fault.New("internal", nil) }
func (noStory) PutSettings(context.Context, admin.Change, map[string]string) (admin.Changed, error) {
	return admin.Changed{}, fault.New("internal", nil)
}
func (noStory) AskApproval(context.Context, admin.Change, admin.Action, string) (admin.Changed, error) {
	return admin.Changed{}, fault.New("internal", nil)
}
func (noStory) Decide(context.Context, admin.Change, string, bool) (admin.Changed, error) {
	return admin.Changed{}, fault.New("internal", nil)
}
func (noStory) Redrive(context.Context, admin.Change, string) (admin.Changed, error) {
	return admin.Changed{}, fault.New("internal", nil)
}
