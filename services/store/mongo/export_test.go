package mongo

import "go.mongodb.org/mongo-driver/v2/event"

// WithMonitor lets a test see the commands that are sent.
func (o Options) WithMonitor(m *event.CommandMonitor) Options {
	o.monitor = m
	return o
}
