package sandbox

import (
	"regexp"
	"strings"
)

// nameOf is the name behind a key, also before its first message.
func (p *people) nameOf(key string) string { return fullName(digestOf(p.seed, "person", key)) }

// accountOf is a person's own bank account: the mobile number without its country, as Nigerian wallets number their
// accounts. It is "" for everybody else.
func accountOf(key string) string {
	account, found := strings.CutPrefix(key, "234")
	if !found || !walletPattern.MatchString(account) {
		return ""
	}
	return account
}

// about names a person and the person's account, also before the first message.
func (p *people) about(key string) (name, account string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if who := p.known(key); who != nil {
		return who.name, accountOf(who.phone)
	}
	return p.nameOf(key), accountOf(key)
}

// walletPattern is a Nigerian mobile number without country code and zero.
var walletPattern = regexp.MustCompile(`^[789][01][0-9]{8}$`)

// fullName is the name that a digest gives: the same for the same person or account in every run.
func fullName(sum []byte) string {
	first := []string{
		"Ada", "Chinedu", "Ngozi", "Emeka", "Amaka", "Tunde", "Bisi", "Ifeoma", "Kunle", "Zainab", "Yusuf", "Funmi", "Obinna",
		"Halima", "Segun", "Chioma",
	}
	middle := []string{"Chidi", "Oluwaseun", "Aisha", "Uche", "Temitope", "Musa", "Nneka", "Ayodele"}
	last := []string{
		"Obi", "Okafor", "Adeyemi", "Bello", "Eze", "Balogun", "Nwosu", "Ibrahim", "Adebayo", "Okonkwo", "Lawal", "Umeh",
		"Afolabi", "Danjuma", "Olawale", "Nnamdi",
	}
	return first[int(sum[0])%len(first)] + " " + middle[int(sum[1])%len(middle)] + " " + last[int(sum[2])%len(last)]
}
