package main

import (
	"offrampbot/services/story"
	"offrampbot/services/user"
)

// newStory is what staff read and change, over the admin API and its pages.
func newStory(a *app) (*story.Story, error) {
	return story.New(story.Deps{
		Engine: a.db, Settings: a.settings, Staff: a.staff, Orders: a.orders, People: a.users, Now: now, Log: a.log,
		PhoneDigest: func(number string) string { return user.PhoneDigest(a.lookupKey(), number) },
	})
}
