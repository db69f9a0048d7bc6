package sandbox

import (
	"fmt"
	"net/url"
	"sort"
	"strings"
)

// EnvFile is the environment of a `serve` in front of this world, complete but for what Config.Env adds: lines
// KEY="value" in alphabetical order, with \n for a line break inside a value (DESIGN §13, §14).
func (w *World) EnvFile() []byte {
	values := map[string]string{
		"APP_ENV":                  "sandbox",
		"HTTP_ADDR":                hostOf(w.cfg.BotURL),
		"WHATSAPP_GRAPH_URL":       w.cfg.BaseURL + "/graph",
		"WHATSAPP_PHONE_NUMBER_ID": PhoneNumberID,
		"WHATSAPP_ACCESS_TOKEN":    w.secrets.AccessToken,
		"WHATSAPP_APP_SECRET":      w.secrets.AppSecret,
		"WHATSAPP_VERIFY_TOKEN":    w.secrets.VerifyToken,
		"FLOW_PRIVATE_KEY":         w.secrets.FlowKey,
		"PIN_PEPPER":               w.secrets.PINPepper,
		"FIELD_KEYS":               w.secrets.FieldKeys,
		"LOOKUP_KEY":               w.secrets.LookupKey,
		"DEPOSIT_WEBHOOK_SECRET":   w.secrets.DepositSecret,
		"WALLET_XPUB":              w.secrets.WalletXPub,
		"TREASURY_ADDRESSES":       w.secrets.Treasury,
		"PAYSTACK_SECRET_KEY":      w.secrets.PaystackSecret,
		"PAYSTACK_URL":             w.cfg.BaseURL + "/paystack",
		"ADMIN_JWT_KEY":            w.secrets.AdminJWTKey,
	}
	for _, chain := range w.cfg.Chains {
		values["CHAIN_"+envName(chain.Name)+"_RPC_URLS"] = w.cfg.BaseURL + "/rpc/" + chain.Name
	}
	for name, value := range w.cfg.Env {
		values[name] = value
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	sort.Strings(names)
	var out strings.Builder
	for _, name := range names {
		fmt.Fprintf(&out, "%s=\"%s\"\n", name, envEscaper.Replace(values[name]))
	}
	return []byte(out.String())
}

var envEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r\n", `\n`, "\n", `\n`)

func envName(chain string) string {
	return strings.ToUpper(strings.ReplaceAll(chain, "-", "_"))
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	if u.Port() != "" {
		return u.Host
	}
	if u.Scheme == "https" {
		return u.Hostname() + ":443"
	}
	return u.Hostname() + ":80"
}
