// Package webhooks is the HTTP edge. router.go shows every route on one screen; a handler decodes, validates, makes one
// service call and writes. What comes from outside is verified over its raw bytes and stored before it is acknowledged
// (W16, D12); everything else happens in workers.
package webhooks
