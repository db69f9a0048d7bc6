package flowsjson

import (
	"fmt"
	"strings"
)

// Fragments of the sell document that the mutations below break.
const (
	pinInput    = `"name": "pin",`
	assetBound  = `"data-source": "${data.assets}"`
	toReceive   = `{"type": "TextHeading", "text": "${data.amount_to_receive}"}`
	emptyAction = `"payload": {}`
	reviewRoute = `"OFFRAMP_FIAT_REVIEW": ["OFFRAMP_CRYPTO_REVIEW", "OFFRAMP_REFUSED"]`
	oneFooter   = `{"type":"Footer","label":"x","on-click-action":{"name":"data_exchange","payload":{}}}`
	oneText     = `{"type":"TextBody","text":"x"}`
)

func insert(component string) string { return component + ", " + toReceive }

// mutation breaks the sell document in one place, which one rule must notice.
type mutation struct{ rule, name, old, new string }

// documentMutations break what the document and its screens are, and the ways between them.
func documentMutations() []mutation {
	return []mutation{
		{"json", "a comma too many", `"version": "7.3",`, `"version": "7.3",,`},
		{"json", "something behind the document", `{
  "version"`, `{} {
  "version"`},
		{"null", "a null", `"title": "Sell crypto"`, `"title": null`},
		{"duplicate-key", "a key twice", `"title": "Sell crypto"`, `"title": "Sell crypto", "title": "x"`},
		{"version", "no version", `"version": "7.3",`, ``},
		{"version", "a frozen version", `"version": "7.3"`, `"version": "5.0"`},
		{"version", "a version from the future", `"version": "7.3"`, `"version": "9.0"`},
		{"data-api-version", "an unknown data version", `"data_api_version": "4.0"`, `"data_api_version": "2.0"`},
		{"action", "no data version", `"data_api_version": "4.0",`, ``},
		{"routing", "no routing model", `"routing_model"`, `"routing_models"`},
		{"unknown-property", "the address of old versions", `"version": "7.3",`, `"version": "7.3", "data_channel_uri": "https://x",`},
		{"unknown-property", "a property nobody knows", `"label": "Sell now"`, `"label": "Sell now", "colour": "red"`},
		{"unknown-property", "a screen property nobody knows", `"refresh_on_back": true`, `"refresh_on_back": true, "colour": "red"`},
		{"screens", "no screens", `"screens": [`, `"screens": [], "x": [`},
		{"screen-id", "a digit in an id", `"id": "OFFRAMP_DETAILS"`, `"id": "OFFRAMP_DETAILS2"`},
		{"screen-id", "the reserved id", `"id": "OFFRAMP_SUCCESS"`, `"id": "SUCCESS"`},
		{"screen-id", "an id twice", `"id": "OFFRAMP_CHECKING"`, `"id": "OFFRAMP_SUCCESS"`},
		{"screen-id", "no id", `"id": "OFFRAMP_CHECKING",`, ``},
		{"screen-title", "a blank title", `"title": "Sell crypto"`, `"title": " "`},
		{"screen-property", "terminal as a text", `"terminal": true`, `"terminal": "yes"`},
		{"routing", "a screen that is not listed", `"OFFRAMP_CHECKING": [],`, ``},
		{"routing", "a screen that does not exist", reviewRoute, `"OFFRAMP_FIAT_REVIEW": ["OFFRAMP_CRYPTO_REVIEW", "NOWHERE"]`},
		{"routing", "a listed screen that does not exist", `"OFFRAMP_CHECKING": [],`, `"OFFRAMP_CHECKING": [], "NOWHERE": [],`},
		{"routing", "the same way twice", reviewRoute, `"OFFRAMP_FIAT_REVIEW": ["OFFRAMP_CRYPTO_REVIEW", "OFFRAMP_REFUSED", "OFFRAMP_REFUSED"]`},
		{"routing-self", "a way to itself", reviewRoute, `"OFFRAMP_FIAT_REVIEW": ["OFFRAMP_FIAT_REVIEW", "OFFRAMP_CRYPTO_REVIEW", "OFFRAMP_REFUSED"]`},
		{"routing-cycle", "a way back", reviewRoute, `"OFFRAMP_FIAT_REVIEW": ["OFFRAMP_CRYPTO_REVIEW", "OFFRAMP_DETAILS"]`},
		{"routing-entry", "nowhere to begin", `"OFFRAMP_SUCCESS": []`, `"OFFRAMP_SUCCESS": ["OFFRAMP_DETAILS"]`},
		{"routing-orphan", "a screen that nothing leads to", `"OFFRAMP_CHECKING", "OFFRAMP_REFUSED"]`, `"OFFRAMP_REFUSED"]`},
		{"routing-end", "a path that ends nowhere", `"title": "We are checking",
      "terminal": true,`, `"title": "We are checking",
      "terminal": false,`},
		{"routing-end", "a terminal screen that leads on", `"OFFRAMP_SUCCESS": []`, `"OFFRAMP_SUCCESS": ["OFFRAMP_REFUSED"]`},
		{"routing-branches", "eleven ways on", reviewRoute, `"OFFRAMP_FIAT_REVIEW": [` + strings.Repeat(`"OFFRAMP_REFUSED",`, 10) + `"OFFRAMP_CRYPTO_REVIEW"]`},
		{"terminal", "success on a screen that goes on", `"title": "Sell crypto",`, `"title": "Sell crypto", "success": true,`},
		{"terminal", "no good end", `"success": true`, `"success": false`},
		{"terminal", "complete before the end", `"name": "data_exchange", ` + emptyAction, `"name": "complete", ` + emptyAction},
		{"terminal", "the end goes on", `"name": "complete",`, `"name": "navigate", "next": {"type": "screen", "name": "OFFRAMP_DETAILS"},`},
		{"layout", "another layout", `"type": "SingleColumnLayout"`, `"type": "Grid"`},
	}
}

// dataMutations break declared data, bindings, texts and inputs.
func dataMutations() []mutation {
	return []mutation{
		{"data", "no type", `"limits_text": {"type": "string", `, `"limits_text": {`},
		{"data", "a list without items", `"items": {
            "type": "object",
            "properties": {"id": {"type": "string"}, "title": {"type": "string"}}
          },`, ``},
		{"example", "no example", `"limits_text": {"type": "string", "__example__": "You can sell from 5 to 150 USDT today."}`, `"limits_text": {"type": "string"}`},
		{"example-type", "an example of another type", `"has_beneficiaries": {"type": "boolean", "__example__": true}`, `"has_beneficiaries": {"type": "boolean", "__example__": "true"}`},
		{"example-type", "an example item of another type", `[{"id": "058", "title": "GTBank"}]`, `[{"id": 58, "title": "GTBank"}]`},
		{"example-type", "an example with an undeclared key", `[{"id": "058", "title": "GTBank"}]`, `[{"id": "058", "name": "GTBank"}]`},
		{"undeclared", "data that is not declared", `"${data.limits_text}"`, `"${data.limit_text}"`},
		{"unused", "data that nothing shows", `"text": "${data.limits_text}"`, `"text": "limits"`},
		{"binding", "a binding inside a text", `"text": "${data.limits_text}"`, `"text": "Limits: ${data.limits_text}"`},
		{"binding", "a dollar before a binding", `"text": "${data.limits_text}"`, `"text": "$${data.limits_text}"`},
		{"binding", "a binding that is not closed", `"text": "${data.limits_text}"`, "\"text\": \"`${data.limits_text`\""},
		{"binding", "an empty text in an expression", `"text": "${data.limits_text}"`, "\"text\": \"`'' ${data.limits_text}`\""},
		{"binding", "neither data nor form", `"text": "${data.limits_text}"`, `"text": "${state.limits_text}"`},
		{"binding", "a screen that does not exist", `"text": "${data.limits_text}"`, `"text": "${screen.NOWHERE.data.limits_text}"`},
		{"binding-type", "a text where a list is wanted", assetBound, `"data-source": "${data.asset}"`},
		{"binding-type", "a text where a truth is wanted", `"visible": "${data.has_beneficiaries}"`, `"visible": "${data.beneficiary}"`},
		{"form-field", "a payload of a field that does not exist", `"pin": "${form.pin}"`, `"pin": "${form.pinn}"`},
		{"payload", "no payload", `"name": "data_exchange", ` + emptyAction, `"name": "data_exchange"`},
		{"name", "two fields of one name", `"name": "second_payment"`, pinInput[:len(pinInput)-1]},
		{"required", "a field without label", `"label": "Bank",`, ``},
		{"required", "a blank text", `"text": "${data.limits_text}"`, `"text": " "`},
		{"length", "a label that is too long", `"label": "Bank"`, `"label": "The bank that your money goes to"`},
		{"length", "a footer that is too long", `"label": "Sell now"`, `"label": "Sell everything that I have typed above now"`},
		{"length", "a helper that is too long", `"helper-text": "Like 25.5 usdt, or what you want to get: ₦20,000"`, `"helper-text": "` + strings.Repeat("x", 81) + `"`},
		{"length", "least more than most", `"min-chars": 4`, `"min-chars": 9`},
		{"input-type", "an input type nobody knows", `"input-type": "passcode"`, `"input-type": "secret"`},
		{"pattern", "a pattern without helper", `"helper-text": "Nobody of us will ever ask you for it in the chat"`, `"pattern": "[0-9]+"`},
		{"options", "an empty list of options", assetBound, `"data-source": []`},
		{"options", "an option without title", assetBound, `"data-source": [{"id": "1"}]`},
		{"length", "an option title that is too long", assetBound, `"data-source": [{"id": "1", "title": "` + strings.Repeat("x", 31) + `"}]`},
	}
}

// componentMutations break which components stand where.
func componentMutations() []mutation {
	return []mutation{
		{"component", "a component nobody knows", toReceive, `{"type": "Marquee", "text": "x"}`},
		{"component", "a component that is a text", toReceive, `"x"`},
		{"component-version", "a component of a later version", toReceive, insert(`{"type":"ChipsSelector","name":"c","label":"x","data-source":[{"id":"1","title":"1"},{"id":"2","title":"2"}]}`)},
		{"components", "six opt-ins", toReceive, insert(strings.TrimSuffix(optIns(6), ","))},
		{"components", "three links", toReceive, insert(strings.TrimSuffix(strings.Repeat(`{"type":"EmbeddedLink","text":"x","on-click-action":{"name":"open_url","url":"https://x"}},`, 3), ","))},
		{"components", "51 components", toReceive, insert(strings.TrimSuffix(strings.Repeat(oneText+",", 51), ","))},
		{"components", "a list of ways beside a footer", toReceive, insert(`{"type":"NavigationList","name":"n","list-items":[{"id":"1","main-content":{"title":"x"}}]}`)},
		{"components", "two pickers", toReceive, insert(`{"type":"PhotoPicker","name":"p","label":"x"},{"type":"DocumentPicker","name":"d","label":"x"}`)},
		{"footer", "two footers", toReceive, insert(oneFooter)},
		{"footer", "no footer at the end", `"type": "Footer",
            "label": "Back to the chat",`, `"type": "EmbeddedLink", "text": "x",`},
		{"footer", "a caption in the middle and one beside", `"label": "Sell now"`, `"label": "Sell now", "center-caption": "x", "left-caption": "y"`},
		{"footer", "a footer in one branch", toReceive, insert(`{"type":"If","condition":"${data.has_error}","then":[` + oneFooter + `]}`)},
		{"footer", "a footer in a case", toReceive, insert(`{"type":"Switch","value":"${data.rate}","cases":{"a":[` + oneFooter + `]}}`)},
		{"condition", "nothing dynamic", toReceive, insert(`{"type":"If","condition":"true","then":[` + oneText + `]}`)},
		{"condition", "an empty branch", toReceive, insert(`{"type":"If","condition":"${data.has_error}","then":[]}`)},
		{"condition", "an empty other branch", toReceive, insert(`{"type":"If","condition":"${data.has_error}","then":[` + oneText + `],"else":[]}`)},
		{"switch", "no cases", toReceive, insert(`{"type":"Switch","value":"${data.rate}","cases":{}}`)},
		{"switch", "an empty case", toReceive, insert(`{"type":"Switch","value":"${data.rate}","cases":{"a":[]}}`)},
		{"nesting", "four deep", toReceive, insert(nested(4))},
		{"form", "an error slot inside a form", toReceive, insert(`{"type":"Form","name":"f","children":[{"type":"TextInput","name":"t","label":"t","error-message":"x"}]}`)},
	}
}

// actionMutations break what taps do, what is masked, and how errors show.
func actionMutations() []mutation {
	return []mutation{
		{"action", "an action nobody knows", `"name": "data_exchange", ` + emptyAction, `"name": "pay", ` + emptyAction},
		{"action", "complete outside the footer", toReceive, insert(`{"type":"EmbeddedLink","text":"x","on-click-action":{"name":"complete","payload":{}}}`)},
		{"action", "a link on a footer", `"name": "data_exchange", ` + emptyAction, `"name": "open_url", "url": "https://x"`},
		{"action", "a way to no screen", `"name": "data_exchange", ` + emptyAction, `"name": "navigate", "next": {"type": "screen", "name": "NOWHERE"}, ` + emptyAction},
		{"routing", "a way that is not in the map", `"name": "data_exchange", ` + emptyAction, `"name": "navigate", "next": {"type": "screen", "name": "OFFRAMP_SUCCESS"}, ` + emptyAction},
		{"sensitive", "a PIN that is not masked", `"sensitive": ["pin"]`, `"sensitive": []`},
		{"sensitive", "an account number that is not masked", `"sensitive": ["account_number"]`, `"sensitive": ["bank_code"]`},
		{"sensitive", "a field that does not exist", `"sensitive": ["pin"]`, `"sensitive": ["pin", "password"]`},
		{"error-convention", "no has_error", `"has_error": {"type": "boolean", "__example__": false},`, ``},
		{"error-convention", "has_error as a text", `"has_error": {"type": "boolean", "__example__": false}`, `"has_error": {"type": "string", "__example__": "no"}`},
		{"error-convention", "the error is not shown first", `"condition": "${data.has_error}"`, `"condition": "${data.has_beneficiaries}"`},
		{"error-convention", "the error is not shown", `"text": "${data.error_message}"`, `"text": "oops"`},
	}
}

func optIns(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"type":"OptIn","name":"o%s","label":"x"},`, strings.Repeat("i", i))
	}
	return b.String()
}

func nested(n int) string {
	if n == 0 {
		return oneText
	}
	return `{"type":"If","condition":"${data.has_error}","then":[` + nested(n-1) + `]}`
}
