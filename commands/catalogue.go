package commands

// Name is what a person wants.
type Name string

// The commands. None is a text that is no command: an answer, or something for the menu to catch.
const (
	None    Name = ""
	Menu    Name = "menu"    // show what there is; every greeting
	Help    Name = "help"    // explain how it works
	Sell    Name = "sell"    // start a sale, with what is known of it
	Balance Name = "balance" // what the person has
	Deposit Name = "deposit" // the deposit address
	Rate    Name = "rate"    // the price now, perhaps of an amount
	Status  Name = "status"  // one sale, by reference, or the last one
	History Name = "history" // the last sales
	Cancel  Name = "cancel"  // stop what is open: a question, or a sale that is not funded
	Support Name = "support" // a person
	Stop    Name = "stop"    // no more messages that are not about money
	Start   Name = "start"   // messages again
)

// Entry is one command of the catalogue.
type Entry struct {
	Name    Name
	Example string // what to type, shown beside the help text
	Help    string // text key of its one line of help
	// Aliases are the words and phrases that mean the command, in lower case and without punctuation. A slash before
	// them, other words of politeness before them, and typos in their longer words are the parser's business.
	Aliases []string
}

// Catalogue is every command, in the order in which help lists them.
func Catalogue() []Entry {
	return []Entry{
		{Sell, "sell 50 usdt", "command.sell", []string{
			"sell", "sel", "offramp", "off ramp", "cash out", "cashout", "convert", "sell crypto", "sell coins", "sellcrypto", "crypto sell",
			"cryptosell", "spend crypto", "spendcrypto", "crypto to cash", "crypto to naira", "crypto to bank", "withdraw", "withdraw crypto",
			"withdrawal", "cash out crypto", "liquidate", "redeem", "exchange", "swap", "new sale", "sell again",
		}},
		{Balance, "balance", "command.balance", []string{
			"balance", "bal", "balances", "my balance", "account", "my account", "myaccount", "profile", "how much do i have", "what do i have", "funds",
			"my money",
		}},
		{Deposit, "deposit", "command.deposit", []string{
			"deposit", "deposits", "wallet", "wallets", "my wallet", "address", "addresses", "my address", "deposit address", "wallet address",
			"top up", "topup", "fund", "fund wallet", "add funds", "add money", "receive", "where do i send", "where should i send", "cryptowallet",
		}},
		{Rate, "rate", "command.rate", []string{
			"rate", "rates", "price", "prices", "exchange rate", "todays rate", "rate today", "fx", "how much is", "how much", "what is the rate",
			"whats the rate", "what is your rate", "whats your rate", "rate of", "price of", "quote", "fee", "fees",
		}},
		{Status, "status", "command.status", []string{
			"status", "track", "order status", "status of", "my order", "my sale", "last sale", "last order", "where is my money", "wheres my money", "check status",
			"when will i get my money", "when will i get paid", "has my money been sent", "reference", "receipt", "slip",
		}},
		{History, "history", "command.history", []string{
			"history", "transactions", "transaction history", "transactionhistory", "txn", "txns", "trx", "activity", "orders", "my orders", "sales",
			"my sales", "past sales", "statement", "order history", "sales history",
		}},
		{Cancel, "cancel", "command.cancel", []string{
			"cancel", "cancel order", "cancel sale", "cancel it", "stop order", "stop my order", "stop sale", "stop the sale", "abort", "never mind", "nevermind", "forget it", "exit", "quit",
		}},
		{Support, "support", "command.support", []string{
			"support", "agent", "human", "contact", "helpdesk", "customer care", "customer service", "customer support", "talk to someone", "talk to a person",
			"speak to someone", "speak to a person", "real person", "complaint", "complain", "issue", "problem", "scam", "fraud", "reset pin", "resetpin",
			"change pin", "forgot pin", "forgot my pin", "i forgot my pin", "forgotten pin",
		}},
		{Help, "help", "command.help", []string{
			"help", "commands", "command", "faq", "info", "about", "guide", "how it works", "how does it work", "how does this work", "what can you do",
			"limit", "limits", "my limit",
		}},
		{Menu, "menu", "command.menu", append([]string{
			"menu", "main menu", "main", "home", "back", "return", "options", "begin", "get started", "sign up", "signup", "register", "join", "create account",
		}, greetings()...)},
		{Stop, "stop", "command.stop", []string{"stop", "unsubscribe", "opt out", "optout", "stop all", "stop messages", "stop messaging me"}},
		{Start, "start", "command.start", []string{"start", "subscribe", "opt in", "optin", "unstop", "resume", "start again", "resume messages"}},
	}
}

// greetings mean the menu when nothing else follows.
func greetings() []string {
	return []string{
		"hi", "hello", "hey", "hiya", "helo", "hallo", "yo", "sup", "good morning", "good afternoon", "good evening", "good day", "morning", "afternoon",
		"evening", "how far", "howdy", "greetings", "salam", "bonjour", "hola", "bawo ni", "sannu", "nnoo", "bonsoir", "salut", "slt", "habari", "mambo", "mambo vipi", "niaje",
		"jambo", "coucou",
	}
}
