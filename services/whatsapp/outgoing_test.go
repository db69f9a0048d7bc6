package whatsapp

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var (
	byPhone = Recipient{Phone: "2348030000001", ScopedID: "NG.70000000000000000001"}
	byScope = Recipient{ScopedID: "US.13491208655302741918"}
)

func TestOutgoing_goldenPayloads(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("₦5,000 to your bank 👨‍👩‍👧‍👦 ", 300)
	tests := []struct {
		name string
		out  Outgoing
	}{
		{"text", Outgoing{To: byPhone, Type: TypeText, Body: "Your sale *7F2* is on its way.", CallbackData: "notify:o1:1"}},
		{"text_to_scoped_id", Outgoing{To: byScope, Type: TypeText, Body: "hi", CallbackData: "notify:o1:1"}},
		{"text_scoped_id_in_place_of_phone", Outgoing{To: Recipient{Phone: "US.13491208655302741918"}, Type: TypeText, Body: "hi"}},
		{"text_reply", Outgoing{To: byPhone, Type: TypeText, Body: "hi", ReplyTo: "wamid.X", CallbackData: "op"}},
		{"text_too_long", Outgoing{To: byPhone, Type: TypeText, Body: long}},
		{"buttons", Outgoing{
			To: byPhone, Type: TypeButtons, Body: "Confirm?", Header: "Sale", Footer: "Ref 7F2", CallbackData: "op",
			Buttons: []OutgoingButton{{"confirm:q1", "Confirm"}, {"cancel:q1", "Cancel"}},
		}},
		{"buttons_too_long", Outgoing{
			To: byPhone, Type: TypeButtons, Body: long, Header: long, Footer: long,
			Buttons: []OutgoingButton{{"a", "Yes, I mean a second payment"}, {"b", "Yes, I mean a second payment now"}, {"c", "Yes, I mean a second payment later"}},
		}},
		{"list", Outgoing{
			To: byScope, Type: TypeList, Body: "Your bank?", CallbackData: "op",
			List: &OutgoingList{Button: "Choose", Sections: []OutgoingSection{{Rows: []OutgoingRow{{"bank:058", "GTBank", "Nigeria"}, {"bank:044", "Access Bank", ""}}}}},
		}},
		{"list_too_long", Outgoing{
			To: byPhone, Type: TypeList, Body: long,
			List: &OutgoingList{Button: long, Sections: []OutgoingSection{
				{Title: long, Rows: []OutgoingRow{{"1", "Stanbic IBTC Bank of Nigeria Plc", long}}},
				{Title: "Other", Rows: []OutgoingRow{{"2", "Zenith", ""}}},
			}},
		}},
		{"flow_by_id", Outgoing{
			To: byPhone, Type: TypeFlow, Body: "Tap to start", Header: "Sell USDC", CallbackData: "op",
			Flow: &OutgoingFlow{ID: "123456", Name: "offramp", CTA: "Start", Token: "ft_9f"},
		}},
		{"flow_by_name_draft", Outgoing{
			To: byScope, Type: TypeFlow, Body: "Tap to start",
			Flow: &OutgoingFlow{Name: "offramp_v1", CTA: "Start", Token: "ft_9f", Draft: true},
		}},
		{"image", Outgoing{To: byPhone, Type: TypeImage, Body: "Your slip", MediaID: "1908", CallbackData: "op"}},
		{"template", Outgoing{
			To: byPhone, Type: TypeTemplate, CallbackData: "op",
			Template: &OutgoingTemplate{Name: "order_update", Language: "en", Params: []string{"7F2", "line one\n\nline two    end", ""}},
		}},
		{"template_without_params", Outgoing{To: byScope, Type: TypeTemplate, Template: &OutgoingTemplate{Name: "hello", Language: "en"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := tt.out.payload()
			require.NoError(t, err)
			goldenJSON(t, "outgoing_"+tt.name+".json", p)
			requireWithinLimits(t, p)
			require.NotContains(t, p.To, ".", "a scoped id is never in to")
			require.NotEqual(t, p.To == "", p.Recipient == "", "one address")
		})
	}
}

// requireWithinLimits repeats Meta's table, apart from the code that shortens.
func requireWithinLimits(t require.TestingT, p *payload) {
	within := func(limit int, texts ...string) {
		for _, s := range texts {
			require.LessOrEqual(t, units(s), limit, s)
			require.True(t, utf8.ValidString(s))
		}
	}
	if p.Text != nil {
		within(4096, p.Text.Body)
	}
	if p.Image != nil {
		within(1024, p.Image.Caption)
	}
	i := p.Interactive
	if i == nil {
		return
	}
	within(1024, i.Body.Text)
	for _, part := range []*interactiveText{i.Header, i.Footer} {
		if part != nil {
			within(60, part.Text)
		}
	}
	titles := map[string]bool{}
	for _, b := range i.Action.Buttons {
		within(20, b.Reply.Title)
		require.False(t, titles[b.Reply.Title], "titles differ")
		titles[b.Reply.Title] = true
	}
	within(20, i.Action.Button)
	for _, s := range i.Action.Sections {
		within(24, s.Title)
		for _, r := range s.Rows {
			within(24, r.Title)
			within(72, r.Description)
		}
	}
}

func TestOutgoing_refuses(t *testing.T) {
	t.Parallel()
	row := func(id string) OutgoingRow { return OutgoingRow{ID: id, Title: "x"} }
	var eleven []OutgoingRow
	for i := range 11 {
		eleven = append(eleven, row(string(rune('a'+i))))
	}
	list := func(sections ...OutgoingSection) Outgoing {
		return Outgoing{To: byPhone, Type: TypeList, Body: "b", List: &OutgoingList{Button: "b", Sections: sections}}
	}
	flow := func(f OutgoingFlow) Outgoing { return Outgoing{To: byPhone, Type: TypeFlow, Body: "b", Flow: &f} }
	buttons := func(b ...OutgoingButton) Outgoing {
		return Outgoing{To: byPhone, Type: TypeButtons, Body: "b", Buttons: b}
	}
	tests := []struct {
		name string
		out  Outgoing
	}{
		{"nobody", Outgoing{Type: TypeText, Body: "x"}},
		{"a phone with a plus", Outgoing{To: Recipient{Phone: "+2348030000001"}, Type: TypeText, Body: "x"}},
		{"no type", Outgoing{To: byPhone, Body: "x"}},
		{"an empty text", Outgoing{To: byPhone, Type: TypeText}},
		{"a text of spaces", Outgoing{To: byPhone, Type: TypeText, Body: " \n"}},
		{"an image without media", Outgoing{To: byPhone, Type: TypeImage}},
		{"a template without language", Outgoing{To: byPhone, Type: TypeTemplate, Template: &OutgoingTemplate{Name: "x"}}},
		{"callback data that is cut on the way back", Outgoing{To: byPhone, Type: TypeText, Body: "x", CallbackData: strings.Repeat("x", 513)}},
		{"no buttons", buttons()},
		{"four buttons", buttons(OutgoingButton{"1", "1"}, OutgoingButton{"2", "2"}, OutgoingButton{"3", "3"}, OutgoingButton{"4", "4"})},
		{"a button id that is cut on the way back", buttons(OutgoingButton{strings.Repeat("x", 257), "x"})},
		{"two buttons of one id", buttons(OutgoingButton{"1", "a"}, OutgoingButton{"1", "b"})},
		{"a button without title", buttons(OutgoingButton{"1", " "})},
		{"buttons without body", Outgoing{To: byPhone, Type: TypeButtons, Buttons: []OutgoingButton{{"1", "1"}}}},
		{"eleven rows", list(OutgoingSection{Rows: eleven})},
		{"an empty section", list(OutgoingSection{})},
		{"no section", list()},
		{"two sections without titles", list(OutgoingSection{Rows: eleven[:1]}, OutgoingSection{Rows: eleven[1:2]})},
		{"two rows of one id", list(OutgoingSection{Rows: []OutgoingRow{row("a"), row("a")}})},
		{"a row id that is cut", list(OutgoingSection{Rows: []OutgoingRow{row(strings.Repeat("x", 201))}})},
		{"a flow without token", flow(OutgoingFlow{Name: "n", CTA: "c"})},
		{"a flow without name", flow(OutgoingFlow{Token: "t", CTA: "c"})},
		{"a flow without call to action", flow(OutgoingFlow{Token: "t", Name: "n"})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := tt.out.payload()
			require.ErrorIs(t, err, ErrOutgoing)
		})
	}
}

func TestFit_table(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		limit    int
		want     string
	}{
		{"short enough", "Access", 20, "Access"},
		{"exactly long enough", "12345", 5, "12345"},
		{"one too long", "123456", 5, "1234…"},
		{"no space before the ellipsis", "Bank of Nigeria", 8, "Bank of…"},
		{"a surrogate pair counts twice", "ab😀cd", 5, "ab😀…"},
		{"a pair does not fit in one unit", "abc😀d", 5, "abc…"},
		{"a joined family is whole or gone", "a👨‍👩‍👧b", 6, "a…"},
		{"a skin tone stays with its hand", "ab👍🏽cd", 6, "ab…"},
		{"an accent stays with its letter", "abcde\u0301fg", 6, "abcd…"},
		{"broken bytes", "ab\xff", 10, "ab\ufffd"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, fit(tt.in, tt.limit))
		})
	}
}

func TestFit_neverTooLongAlwaysAPrefix(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in, limit := rapid.String().Draw(t, "in"), rapid.IntRange(1, 40).Draw(t, "limit")
		got := fit(in, limit)
		require.LessOrEqual(t, units(got), limit)
		require.True(t, utf8.ValidString(got))
		if got != in {
			require.True(t, strings.HasPrefix(in, strings.TrimSuffix(got, "…")))
		}
	})
}

func TestOutgoing_anyButtonsStayWithinLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		out := Outgoing{To: byPhone, Type: TypeButtons, Body: "x" + rapid.String().Draw(t, "body")}
		for i := range rapid.IntRange(1, 3).Draw(t, "n") {
			title := rapid.SampledFrom([]string{"Confirm", "A title that is much too long", "👍👍👍👍👍👍👍👍👍👍👍👍"}).Draw(t, "title")
			out.Buttons = append(out.Buttons, OutgoingButton{ID: string(rune('a' + i)), Title: title})
		}
		p, err := out.payload()
		require.NoError(t, err)
		requireWithinLimits(t, p)
	})
}
