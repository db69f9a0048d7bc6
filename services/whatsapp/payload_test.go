package whatsapp

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/delivery"
)

const (
	ourNumber  = "106000000000001"
	testSecret = "example-app-secret"
)

// fixtures are the twelve webhook bodies with their signatures, byte for byte.
var fixtures = []struct{ file, signature string }{
	{"F01-text-escapes.json", "sha256=78b41dfbd339ddbc085546c5db023bcee174106dc17a8e7fccf23cccbb4eb110"},
	{"F02-batch-duplicate-unknown-status.json", "sha256=e93dc0bdfcf9c4858f3b44ad780efabbfc916e8d4ff189f4076b934d10b14d42"},
	{"F03-reply-button-tapped-twice.json", "sha256=92ec75e5573bc22f1e6857e9f03ab31d62925d9d0435b225a8a985cb528cfa6d"},
	{"F04-list-reply-and-template-button.json", "sha256=41065c5a9a34d53cce250267b8ce9c682640008d2f93cf4ee4e41c9689ce01d6"},
	{"F05-flow-answers.json", "sha256=d519a422488d8e9fa49cfc63a9a77898dcd3bb87fd54273308a24b09137a25ab"},
	{"F06-bsuid-only-user.json", "sha256=51359d8197a677ced63491a6bebbd6d2ab418a366a2d298932a45d1fe154e95d"},
	{"F07-system-number-and-id-change.json", "sha256=d4c040a5cbd99efd46a819f689408db9fdfd503e380796d023bd089574d9d0b4"},
	{"F08-unsupported-and-odd-messages.json", "sha256=9268b192bd28a294f324c88d7e024a2f2a41b3ba1ef104f74f96caef825b9e51"},
	{"F09-statuses-out-of-order.json", "sha256=503d5161b3d187599ccdb3d8b50312ad5704216dad669e57eff0fff4d2415f6b"},
	{"F10-failures-and-account-error.json", "sha256=13cd7852a2927a7a89f663955fb9f0f1edacf1c6c958bf465f5c7e9bb098d1f8"},
	{"F11-media-and-contact-card.json", "sha256=dd259ce3ac050d24d6c8439980c4fccdc4bb98ef6cd324fa92cb5d84be40454e"},
	{"F12-account-and-flow-alerts.json", "sha256=2d7599095f9faee4f6566a55efcde5e088c016ac923dd11dd507f98159eeb240"},
}

func fixture(tb testing.TB, prefix string) []byte {
	tb.Helper()
	for _, f := range fixtures {
		if strings.HasPrefix(f.file, prefix) {
			body, err := os.ReadFile(filepath.Join("testdata", f.file))
			require.NoError(tb, err)
			return body
		}
	}
	tb.Fatalf("no fixture %s", prefix)
	return nil
}

func TestDecode_goldenItemsOfEveryFixture(t *testing.T) {
	t.Parallel()
	for _, f := range fixtures {
		t.Run(f.file, func(t *testing.T) {
			t.Parallel()
			body := fixture(t, f.file)
			require.True(t, VerifySignature([][]byte{[]byte(testSecret)}, f.signature, body), "the bytes were changed")
			batch := Decode(body, ourNumber)
			require.Empty(t, batch.Broken)
			goldenJSON(t, strings.TrimSuffix(f.file, ".json")+".decoded.json", batch)
			for _, item := range batch.Items {
				again, err := DecodeBody(item.Body(), ourNumber)
				require.NoError(t, err)
				requireSameItem(t, item, again)
			}
		})
	}
}

// requireSameItem compares what readers of an item see.
func requireSameItem(t *testing.T, want, got Item) {
	t.Helper()
	wantJSON, err := json.Marshal(want)
	require.NoError(t, err)
	gotJSON, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, string(wantJSON), string(gotJSON))
	require.Equal(t, want.Body(), got.Body())
}

func TestVerifySignature_refusesTheReMarshalledBody(t *testing.T) {
	t.Parallel()
	body := fixture(t, "F01")
	var decoded any
	require.NoError(t, json.Unmarshal(body, &decoded))
	again, err := json.Marshal(decoded)
	require.NoError(t, err)
	require.NotEqual(t, body, again)
	require.False(t, VerifySignature([][]byte{[]byte(testSecret)}, fixtures[0].signature, again))
}

func TestVerifySignature_table(t *testing.T) {
	t.Parallel()
	body := []byte(`{"t":"\u20a65k \ud83d\udc4b caf\u00e9 a\/b"}`)
	good := "sha256=5cadf01a9b79e37aebfc09a0cbd0374349d7dcf676dc3b9f7eb1fad11bf57ab0"
	digits := strings.TrimPrefix(good, "sha256=")
	secret, other := []byte(testSecret), []byte("another secret")
	tests := []struct {
		name    string
		secrets [][]byte
		header  string
		want    bool
	}{
		{"the right secret", [][]byte{secret}, good, true},
		{"the second of two secrets, during a rotation", [][]byte{other, secret}, good, true},
		{"the signature of the re-marshalled body", [][]byte{secret}, "sha256=a7f0af23d2a2fe69f75ebf48595d42e67eb1e8221a1e6c308af41903c72a9902", false},
		{"another secret", [][]byte{other}, good, false},
		{"no secret at all", nil, good, false},
		{"an empty secret", [][]byte{{}}, "sha256=" + hmacHex(nil, body), false},
		{"no header", [][]byte{secret}, "", false},
		{"no prefix", [][]byte{secret}, digits, false},
		{"the prefix of the old algorithm", [][]byte{secret}, "sha1=" + digits, false},
		{"the prefix in capitals", [][]byte{secret}, "SHA256=" + digits, false},
		{"one digit short", [][]byte{secret}, good[:len(good)-1], false},
		{"half of it", [][]byte{secret}, "sha256=" + digits[:32], false},
		{"one digit long", [][]byte{secret}, good + "0", false},
		{"two headers joined", [][]byte{secret}, good + "," + good, false},
		{"no hex", [][]byte{secret}, "sha256=" + strings.Repeat("z", 64), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, VerifySignature(tt.secrets, tt.header, body))
		})
	}
}

func hmacHex(secret, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

func TestDecode_textKeepsEscapesEmojiAndNaira(t *testing.T) {
	t.Parallel()
	batch := Decode(fixture(t, "F01"), ourNumber)
	require.Equal(t, "Sell ₦5k w/ USDC 👨‍👩‍👧 café ٥٠٠", batch.Items[0].Message.Text)
}

func TestDecode_anotherNumberIsForeign(t *testing.T) {
	t.Parallel()
	for _, item := range Decode(fixture(t, "F02"), "999").Items {
		require.Equal(t, item.Source != delivery.Account, item.Foreign, item.Kind)
	}
}

func TestDecode_scopedIDInTheFieldsOfAPhoneID(t *testing.T) {
	t.Parallel()
	plain := fixture(t, "F06")
	id := "US.13491208655302741918"
	variant := bytes.Replace(plain, []byte(`{"from_user_id": "`+id), []byte(`{"from":"`+id+`","from_user_id": "`+id), 1)
	variant = bytes.Replace(variant, []byte(`"user_id": "`+id+`"}]`), []byte(`"user_id": "`+id+`","wa_id":"`+id+`"}]`), 1)
	require.NotEqual(t, plain, variant)
	want, got := Decode(plain, ourNumber).Items[0].Message, Decode(variant, ourNumber).Items[0].Message
	require.Equal(t, want, got)
	require.Equal(t, id, got.ScopedID)
	require.Empty(t, got.From)

	onlyFrom := bytes.ReplaceAll(variant, []byte(`"from_user_id": "`+id+`",`), nil)
	require.Equal(t, id, Decode(onlyFrom, ourNumber).Items[0].Message.ScopedID)
}

// message wraps one messages element into a body.
func message(element string) []byte {
	return []byte(`{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":{` +
		`"metadata":{"phone_number_id":"` + ourNumber + `"},"messages":[` + element + `]}}]}]}`)
}

func TestDecode_oneBrokenElementLeavesItsNeighbours(t *testing.T) {
	t.Parallel()
	good := `{"from":"2348030000001","id":"wamid.%","timestamp":"1767225600","type":"text","text":{"body":"hi"}}`
	first, last := strings.Replace(good, "%", "A", 1), strings.Replace(good, "%", "B", 1)
	tests := []struct{ name, element, reason string }{
		{"a number", `7`, "not an object"},
		{"null", `null`, "not an object"},
		{"a list", `[{}]`, "not an object"},
		{"no id", `{"from":"2348030000001","type":"text","text":{"body":"x"}}`, "without a usable id"},
		{"an id of a kilobyte", `{"from":"2348030000001","type":"text","id":"` + strings.Repeat("x", 1024) + `"}`, "without a usable id"},
		{"an id that is an object", `{"from":"2348030000001","type":"text","id":{}}`, "without a usable id"},
		{"no sender", `{"id":"wamid.X","type":"text","text":{"body":"x"}}`, "without a sender"},
		{"a sender of words", `{"id":"wamid.X","from":"me","type":"text","text":{"body":"x"}}`, "without a sender"},
		{"a text that is a list", `{"id":"wamid.X","from":"2348030000001","type":"text","text":[]}`, "text is not an object"},
		{"an interactive string", `{"id":"wamid.X","from":"2348030000001","type":"interactive","interactive":"x"}`, "interactive is not an object"},
		{"a button without id", `{"id":"wamid.X","from":"2348030000001","type":"interactive","interactive":{"type":"button_reply","button_reply":{}}}`, "without an id"},
		{"an image without id", `{"id":"wamid.X","from":"2348030000001","type":"image","image":{}}`, "without an id"},
		{"a system message about nobody", `{"id":"wamid.X","type":"system","system":{"type":"user_changed_user_id"}}`, "about nobody"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			batch := Decode(message(first+","+tt.element+","+last), ourNumber)
			require.Len(t, batch.Items, 2)
			require.Equal(t, "wamid.A", batch.Items[0].Message.Wamid)
			require.Equal(t, "wamid.B", batch.Items[1].Message.Wamid)
			require.Len(t, batch.Broken, 1)
			require.Contains(t, batch.Broken[0].Reason, tt.reason)
			require.Equal(t, "entry[0].changes[0].messages[1]", batch.Broken[0].Path)
			require.Equal(t, tt.element, string(batch.Broken[0].Raw()))
		})
	}
}

func TestDecode_brokenEnvelopesAreSetAside(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, body string }{
		{"nothing", ``},
		{"no JSON", `<html>`},
		{"a list", `[]`},
		{"cut off", `{"object":"whatsapp_business_account","entry":[`},
		{"two documents", `{"object":"whatsapp_business_account"} {}`},
		{"another object", `{"object":"page","entry":[]}`},
		{"entry is a string", `{"object":"whatsapp_business_account","entry":"x"}`},
		{"an entry is a number", `{"object":"whatsapp_business_account","entry":[1]}`},
		{"changes is an object", `{"object":"whatsapp_business_account","entry":[{"changes":{}}]}`},
		{"a change is null", `{"object":"whatsapp_business_account","entry":[{"changes":[null]}]}`},
		{"a value is a list", `{"object":"whatsapp_business_account","entry":[{"changes":[{"field":"messages","value":[]}]}]}`},
		{"messages without metadata", `{"object":"whatsapp_business_account","entry":[{"changes":[{"field":"messages","value":{"messages":[]}}]}]}`},
		{"no field", `{"object":"whatsapp_business_account","entry":[{"changes":[{"value":{}}]}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			batch := Decode([]byte(tt.body), ourNumber)
			require.Empty(t, batch.Items)
			require.Len(t, batch.Broken, 1)
			require.NotEmpty(t, batch.Broken[0].Delivery)
			require.NotEmpty(t, batch.Broken[0].Reason)
		})
	}
}

func TestDecode_oddTimesAreUnknownTimes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, value string
		want        int64
	}{
		{"text", `"1767225600"`, 1767225600},
		{"number", `1767225600`, 1767225600},
		{"absent", `null`, 0},
		{"negative", `"-5"`, 0},
		{"words", `"yesterday"`, 0},
		{"a fraction", `1767225600.5`, 0},
		{"an exponent", `1e300`, 0},
		{"beyond every calendar", `"99999999999999"`, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			batch := Decode(message(`{"from":"2348030000001","id":"wamid.A","timestamp":`+tt.value+`,"type":"text","text":{"body":"hi"}}`), ourNumber)
			require.Len(t, batch.Items, 1)
			want := time.Time{}
			if tt.want != 0 {
				want = time.Unix(tt.want, 0).UTC()
			}
			require.Equal(t, want, batch.Items[0].SentAt)
		})
	}
}

func TestDecode_contactsAreJoinedByID(t *testing.T) {
	t.Parallel()
	body := []byte(`{"object":"whatsapp_business_account","entry":[{"changes":[{"field":"messages","value":{` +
		`"metadata":{"phone_number_id":"` + ourNumber + `"},` +
		`"contacts":[{"wa_id":"111111","profile":{"name":"First"}},7,{"wa_id":"222222","user_id":"NG.2","profile":{"name":"Second"}}],` +
		`"messages":[{"from":"222222","id":"wamid.A","type":"text","text":{"body":"a"}},` +
		`{"from":"333333","id":"wamid.B","type":"text","text":{"body":"b"}}]}}]}]}`)
	batch := Decode(body, ourNumber)
	require.Len(t, batch.Items, 2)
	require.Equal(t, "Second", batch.Items[0].Message.Name)
	require.Equal(t, "NG.2", batch.Items[0].Message.ScopedID)
	require.Empty(t, batch.Items[1].Message.Name)
}

func TestDecode_exactKeysOnly(t *testing.T) {
	t.Parallel()
	batch := Decode(message(`{"from":"2348030000001","id":"wamid.A","ID":"wamid.B","type":"text","text":{"body":"a","BODY":"b"}}`), ourNumber)
	require.Equal(t, "wamid.A", batch.Items[0].Message.Wamid)
	require.Equal(t, "a", batch.Items[0].Message.Text)
}

func TestDecode_dropsNULFromText(t *testing.T) {
	t.Parallel()
	batch := Decode(message(`{"from":"2348030000001","id":"wamid.A","type":"text","text":{"body":"a\u0000b \ud83d"}}`), ourNumber)
	require.Equal(t, "ab \ufffd", batch.Items[0].Message.Text)
}

func TestDecode_anEventOfAnotherDayIsAnotherDelivery(t *testing.T) {
	t.Parallel()
	body := fixture(t, "F12")
	later := bytes.ReplaceAll(body, []byte(`"time": 1767225700`), []byte(`"time": 1769904000`))
	first, second := Decode(body, ourNumber).Items[0], Decode(later, ourNumber).Items[0]
	require.Equal(t, "account_update", first.Kind)
	require.NotEqual(t, first.Delivery, second.Delivery)
	require.Equal(t, first.Delivery, Decode(body, ourNumber).Items[0].Delivery)
}

func TestMessage_logsNothingPersonal(t *testing.T) {
	t.Parallel()
	m := Message{Wamid: "wamid.A", Type: "text", From: "2348030000001", Name: "Ada", Text: "my pin is 9999"}
	require.Equal(t, "message wamid.A of type text", m.String())
	require.NotContains(t, m.LogValue().String(), "9999")
	require.NotContains(t, m.LogValue().String(), "2348030000001")
}

func FuzzDecode(f *testing.F) {
	for _, name := range fixtures {
		f.Add(fixture(f, name.file))
	}
	f.Add(message(`{"from":"2348030000001","id":"wamid.A","type":"interactive","interactive":{"type":"nfm_reply","nfm_reply":{"response_json":"{"}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		batch := Decode(body, ourNumber)
		seen := map[string]bool{}
		for i := range batch.Items {
			item := &batch.Items[i]
			if item.Delivery == "" || item.Kind == "" || item.Partition == "" || seen[item.Delivery] {
				t.Fatalf("item %+v has no identity of its own", item.Delivery)
			}
			seen[item.Delivery] = true
			if (item.Message != nil) == (item.Status != nil) && item.Event == nil {
				t.Fatal("item without content")
			}
			again, err := DecodeBody(item.Body(), ourNumber)
			if err != nil {
				t.Fatalf("stored item cannot be read: %v", err)
			}
			if again.Delivery != item.Delivery || again.Kind != item.Kind || again.Partition != item.Partition {
				t.Fatalf("stored item changed: %q %q", again.Delivery, item.Delivery)
			}
		}
		if len(batch.Items) == 0 && len(batch.Broken) == 0 && json.Valid(body) == false {
			t.Fatal("an unreadable body left no trace")
		}
	})
}
