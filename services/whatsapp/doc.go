// Package whatsapp is the adapter to the WhatsApp Cloud API: it decodes webhook bodies into typed items, calls the Graph
// API through one thin client, carries out notify operations, and publishes Flows. Nothing of the API's shape leaves it.
//
// What arrives is signed by Meta and still not trusted to be well formed: one bad element of a batch never spoils the
// others (P7, P8, P22). What is sent is checked against one table of limits before it leaves, because one label that is
// too long rejects a whole message (P37). The API has no idempotency key, so a send whose reply was lost is unknown, never
// failed: its status webhook, matched by the operation id, is waited for before anything is sent again.
package whatsapp
