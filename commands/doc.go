// Package commands reads what people type: a text in, a Command out. The parser is pure; it knows the registry and
// nothing of who is asking, so the same text always means the same. Whether a command may run, and what an answer to a
// question means, is decided by the conversation in package bot.
//
// Reading is forgiving about words and strict about money. Politeness, emoji, punctuation, case, slashes and small typos
// of command words are tolerated; an amount, a coin or a chain that is not recognised is refused, never guessed (P53–P57).
package commands
