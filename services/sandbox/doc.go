// Package sandbox is a world to run the bot in (DESIGN §14): a simulated Meta Graph API with its WhatsApp clients, a
// simulated Paystack with its banks, and one JSON-RPC chain per registry chain, all over real HTTP with real signatures
// and real Flow encryption, so that the bot in front of it is the unmodified production binary.
//
//	bot ──► /graph/…    graph_*.go    what Meta accepts and refuses
//	bot ◄── webhooks    deliver.go    signed messages, statuses, Flow requests (people.go, flow_client.go)
//	bot ──► /paystack/… paystack_*.go what the banks really did, whatever the reply said
//	bot ──► /rpc/<name> chain_*.go    blocks, logs, reorganisations
//	test ─► /world/…    world_*.go    the levers, world.schema.json their contract
//	person ─► /         page.go       the phone page: a chat client and the levers, in plain files over the world API
//	bot ◄── staff API   desk.go       where an order stands, asked as a member of staff would, for the page's picture
//
// It reads signatures and Flow encryption a second time on its own, without the bot's packages, so that one wrong
// reading cannot cancel out (docs/design.md §2). Faults (fault_*.go) are told truthfully: the effect and the answer are
// two things, and each kind says which of them happens.
//
// Locks: people, bank, media, flows, faults, events and each chain have one mutex each. The bank, people and chain
// locks may be held while the event hub or the queue is told; nothing takes two of the big ones together.
package sandbox
