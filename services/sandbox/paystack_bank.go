package sandbox

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
)

// bankEntry is one bank of Paystack's list.
type bankEntry struct {
	name, code, longcode, currency, kind string
}

// bankList is a realistic extract of the list, Nigerian banks first, with codes as Paystack has them.
func bankList() []bankEntry {
	ng := func(name, code, longcode string) bankEntry { return bankEntry{name, code, longcode, "NGN", "nuban"} }
	gh := func(name, code, kind string) bankEntry { return bankEntry{name, code, "", "GHS", kind} }
	return []bankEntry{
		ng("9mobile 9Payment Service Bank", "120001", "120001"),
		ng("Access Bank", "044", "044150149"),
		ng("Access Bank (Diamond)", "063", "063150162"),
		ng("ALAT by WEMA", "035A", "035150103"),
		ng("Carbon", "565", ""),
		ng("Citibank Nigeria", "023", "023150005"),
		ng("Ecobank Nigeria", "050", "050150010"),
		ng("FairMoney Microfinance Bank", "51318", ""),
		ng("Fidelity Bank", "070", "070150003"),
		ng("First Bank of Nigeria", "011", "011151003"),
		ng("First City Monument Bank", "214", "214150018"),
		ng("Globus Bank", "00103", "103015001"),
		ng("Guaranty Trust Bank", "058", "058152036"),
		ng("Heritage Bank", "030", "030159992"),
		ng("Jaiz Bank", "301", "301080020"),
		ng("Keystone Bank", "082", "082150017"),
		ng("Kuda Bank", "50211", ""),
		ng("Lotus Bank", "303", ""),
		ng("Moniepoint MFB", "50515", ""),
		ng("OPay Digital Services Limited (OPay)", "999992", ""),
		ng("PalmPay", "999991", ""),
		ng("Parallex Bank", "104", ""),
		ng("Polaris Bank", "076", "076151006"),
		ng("PremiumTrust Bank", "105", ""),
		ng("Providus Bank", "101", ""),
		ng("Rubies MFB", "125", ""),
		ng("Sparkle Microfinance Bank", "51310", ""),
		ng("Stanbic IBTC Bank", "221", "221159522"),
		ng("Standard Chartered Bank", "068", "068150015"),
		ng("Sterling Bank", "232", "232150016"),
		ng("Suntrust Bank", "100", ""),
		ng("TAJ Bank", "302", ""),
		ng("Titan Paystack", "100039", ""),
		ng("Union Bank of Nigeria", "032", "032080474"),
		ng("United Bank For Africa", "033", "033153513"),
		ng("Unity Bank", "215", "215154097"),
		ng("VFD Microfinance Bank Limited", "566", ""),
		ng("Wema Bank", "035", "035150103"),
		ng("Zenith Bank", "057", "057150013"),
		gh("Absa Bank Ghana Ltd", "030100", "ghipss"),
		gh("Ecobank Ghana Limited", "130100", "ghipss"),
		gh("GCB Bank Limited", "040100", "ghipss"),
		gh("MTN", "MTN", "mobile_money"),
		gh("Telecel", "VOD", "mobile_money"),
		gh("ATMoney & Tigo Cash", "ATL", "mobile_money"),
	}
}

func bankOf(currency, code string) (bankEntry, bool) {
	banks := bankList()
	i := slices.IndexFunc(banks, func(b bankEntry) bool { return b.code == code && (currency == "" || b.currency == currency) })
	if i < 0 {
		return bankEntry{}, false
	}
	return banks[i], true
}

func listBanks(currency, kind string) reply {
	data := []any{}
	countries := map[string]string{"NGN": "Nigeria", "GHS": "Ghana"}
	for i, b := range bankList() {
		if (currency != "" && b.currency != currency) || (kind != "" && b.kind != kind) {
			continue
		}
		data = append(data, gin.H{
			"id": i + 1, "name": b.name, "slug": slugOf(b.name), "code": b.code, "longcode": b.longcode, "gateway": nil,
			"pay_with_bank": false, "supports_transfer": true, "active": true, "is_deleted": false, "country": countries[b.currency],
			"currency": b.currency, "type": b.kind, "createdAt": "2016-07-14T10:04:29.000Z", "updatedAt": "2020-02-18T08:06:44.000Z",
		})
	}
	return paystackOK("Banks retrieved", data)
}

var notSlug = regexp.MustCompile(`[^a-z0-9]+`)

func slugOf(name string) string {
	return strings.Trim(notSlug.ReplaceAllString(strings.ToLower(name), "-"), "-")
}

// noSuchAccount is the account that no bank knows.
const noSuchAccount = "0000000000"

var nubanPattern = regexp.MustCompile(`^[0-9]{10}$`)

// resolveAccount tells the holder's name: the same account at the same bank has the same holder in every run.
func (w *World) resolveAccount(account, bankCode string) reply {
	bank, found := bankOf("", bankCode)
	switch {
	case account == "" || bankCode == "":
		return paystackRefusal("missing_params")
	case !found:
		return paystackError(http.StatusBadRequest, "unknown_bank_code", "Unknown bank code: "+bankCode)
	case bank.currency == "NGN" && !nubanPattern.MatchString(account):
		return paystackRefusal("invalid_account_number")
	case account == noSuchAccount:
		return paystackRefusal("invalid_account_number")
	}
	return paystackOK("Account number resolved", gin.H{
		"account_number": account, "account_name": w.holderOf(bankCode, account), "bank_id": 1,
	})
}

// holderOf names whom an account belongs to: the person of the phone whose number it is, else somebody made up.
func (w *World) holderOf(bankCode, account string) string {
	if walletPattern.MatchString(account) {
		return strings.ToUpper(w.people.nameOf("234" + account))
	}
	return strings.ToUpper(fullName(digestOf(w.cfg.Seed, "holder", bankCode, account)))
}

// recipient is a bank account that transfers can go to.
type recipient struct {
	id       int64
	code     string // RCP_…
	kind     string
	name     string
	account  string
	bank     bankEntry
	currency string
}

// createRecipient makes a recipient; the same account gives the existing one.
func (w *World) createRecipient(body []byte) reply {
	var in struct {
		Type     string `json:"type"`
		Name     string `json:"name"`
		Account  string `json:"account_number"`
		BankCode string `json:"bank_code"`
		Currency string `json:"currency"`
	}
	if json.Unmarshal(body, &in) != nil || in.Type == "" || in.Account == "" || in.BankCode == "" || in.Name == "" {
		return paystackRefusal("missing_params")
	}
	currency := orString(in.Currency, "NGN")
	bank, found := bankOf(currency, in.BankCode)
	if !found {
		return paystackError(http.StatusBadRequest, "invalid_bank_code", "Bank is invalid")
	}
	if bank.kind != in.Type {
		return paystackError(http.StatusBadRequest, "invalid_params", "Recipient type "+in.Type+" does not fit the bank")
	}
	if in.Account == noSuchAccount || (currency == "NGN" && !nubanPattern.MatchString(in.Account)) {
		return paystackError(http.StatusBadRequest, "invalid_account_number", "Account number is invalid")
	}
	r := w.bank.recipientFor(currency+" "+in.BankCode+" "+in.Account, func() recipient {
		return recipient{
			id: w.mint.number("recipient"), code: "RCP_" + w.mint.code("recipient-code", 15), kind: in.Type, name: in.Name,
			account: in.Account, bank: bank, currency: currency,
		}
	})
	return reply{status: http.StatusCreated, body: gin.H{
		"status": true, "message": "Transfer recipient created successfully", "data": w.recipientBody(r),
	}}
}

func (w *World) recipientBody(r recipient) gin.H {
	return gin.H{
		"active": true, "createdAt": stamp(w.cfg.Now()), "updatedAt": stamp(w.cfg.Now()), "currency": r.currency, "description": nil,
		"domain": "test", "email": nil, "id": r.id, "integration": integration, "metadata": nil, "name": r.name,
		"recipient_code": r.code, "type": r.kind, "is_deleted": false,
		"details": gin.H{
			"authorization_code": nil, "account_number": r.account, "account_name": w.holderOf(r.bank.code, r.account),
			"bank_code": r.bank.code, "bank_name": r.bank.name,
		},
	}
}
