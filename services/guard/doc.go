// Package guard refuses the second submission of a sale quickly (source article 001, R47–R85, with W1–W15 put right).
//
// It is a courtesy in front of the durable truth: a quote is taken once and the order id is unique. Losing Redis may
// cost the courtesy's speed, never money; then the orders in the store answer by the same digest, and if they cannot be
// read either, nothing is claimed.
//
// Two keys share one digest of the sale's content and every claim checks both: offramp:transaction:<digest> for
// confirmations in the Flow and offramp:pin:<digest> for those from the hosted page. The value is
// "<state>|<intent>|<milliseconds>": what stage, whose claim, since when.
//
//	processing          600 s  claimed, up to funding; renewed while the order is open
//	transfer_completed  600 s  the hold is placed
//	completed           300 s  paid
//	failed              300 s  conclusively not paid, cancelled, or paid and returned by the bank: free again
//
// The digest in a key is the content's, digested once more under the installation id, which is drawn once for each
// database. A claim is about the orders of one database, but a Redis may outlive it or serve two: a claim of another
// database never refuses a sale. Locks, rate limits and drafts carry the id in their prefix for the same reason.
//
// States only move down this list, never from completed to failed but on a returned sale, and an unknown outcome keeps
// what is there. Any state but absent or failed refuses.
package guard
