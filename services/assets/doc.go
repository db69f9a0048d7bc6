// Package assets is the registry: which chains, tokens and fiat currencies exist, how deep a deposit must be, what a
// tier may sell, what a sale costs. It is data, read once at start and never changed while a process runs.
//
// A token is known by chain and contract, never by its symbol (B62), and its decimals belong to that pair: USDT has 6 on
// Polygon and 18 on BNB Chain (B61). An unknown token, chain or spelling is refused with the list of what is known; it is
// never guessed (DESIGN §8.1). Every lookup that can miss says so in its second result.
package assets
