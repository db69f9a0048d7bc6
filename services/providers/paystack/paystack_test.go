package paystack_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/config"
	"offrampbot/services/fault"
	"offrampbot/services/money"
	"offrampbot/services/payout"
	"offrampbot/services/payout/payouttest"
	"offrampbot/services/providers/paystack"
	"offrampbot/services/testkit"
)

// canned answers calls with fixed replies by path and counts them.
type canned struct {
	mu      sync.Mutex
	replies map[string]payouttest.Reply
	seen    []string // method, path and body
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	body := []byte{}
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
	reply, ok := c.replies[r.URL.Path]
	if !ok {
		reply = dialect{}.Other(r, body)
	}
	if reply.Status == 0 {
		return nil, errors.New(reply.Body)
	}
	rec := httptest.NewRecorder()
	for name, values := range reply.Header {
		rec.Header()[name] = values
	}
	rec.WriteHeader(reply.Status)
	_, _ = rec.WriteString(reply.Body)
	return rec.Result(), nil
}

func (c *canned) set(path string, status int, body string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.replies == nil {
		c.replies = map[string]payouttest.Reply{}
	}
	c.replies[path] = payouttest.Reply{Status: status, Body: body}
}

// calls counts the calls whose method and path start like this.
func (c *canned) calls(prefix string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.seen {
		if strings.HasPrefix(s, prefix) {
			n++
		}
	}
	return n
}

func newCanned(t testing.TB, now func() time.Time, size int) (*paystack.Client, *canned) {
	t.Helper()
	world := &canned{}
	c, err := paystack.New(paystack.Config{
		URL: "https://paystack.test", SecretKey: config.NewSecret(payouttest.Key), Recipients: size,
	}, world, now)
	require.NoError(t, err)
	return c, world
}

const verifyPath = "/transfer/verify/ofr-sample-reference"

// TestSamples_areGoldenVerdicts reads a sample of every answer that we know of, and of some that only look like one. The golden file says
// what each is taken for.
func TestSamples_areGoldenVerdicts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/samples/*.http")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	slices.Sort(files)
	var out strings.Builder
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		first, body, _ := strings.Cut(string(raw), "\n")
		status, err := strconv.Atoi(first)
		require.NoError(t, err)
		name := strings.TrimSuffix(filepath.Base(file), ".http")
		c, world := newCanned(t, testkit.Noon().Now, 0)
		var got payout.Result
		if strings.HasPrefix(name, "create") {
			world.set("/transfer", status, body)
			world.set(verifyPath, 200, dialect{}.Found(payouttest.Transfer{
				Reference: request.Reference, Amount: request.Amount, Currency: "NGN", Account: "0123456789", BankCode: "058", Status: "pending",
			}).Body)
			got = c.Send(t.Context(), request)
		} else {
			world.set(verifyPath, status, body)
			got = c.LookUp(t.Context(), request.Reference)
		}
		require.NotContains(t, fmt.Sprintf("%+v", got), string(request.Account), name)
		line := fmt.Sprintf("%-36s %-8s found=%-5t fee=%-4d session=%-30s %s", name, got.Outcome, got.Found, got.FeeMinor, got.SessionID, got.Reason)
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	testkit.Golden(t, "verdicts.txt", []byte(out.String()))
}

func TestSend_goldenRequests(t *testing.T) {
	t.Parallel()
	c, world := newCanned(t, testkit.Noon().Now, 0)
	world.set("/transfer", 500, "")
	c.Send(t.Context(), request)
	testkit.Golden(t, "requests.txt", []byte(strings.Join(world.seen, "\n")+"\n"))
}

func TestSend_makesARecipientOnceAndAgainWhenItIsRefused(t *testing.T) {
	t.Parallel()
	c, world := newCanned(t, testkit.Noon().Now, 0)
	world.set("/transfer", 200, "{}")
	for range 3 {
		require.Equal(t, payout.Unknown, c.Send(t.Context(), request).Outcome)
	}
	require.Equal(t, 1, world.calls("POST /transferrecipient"))
	other := request
	other.BankCode = "044"
	c.Send(t.Context(), other)
	require.Equal(t, 2, world.calls("POST /transferrecipient"), "another bank is another account")
	world.set("/transfer", 400, `{"status":false,"code":"invalid_transfer_recipient","message":"Recipient specified is invalid"}`)
	require.Equal(t, payout.Failed, c.Send(t.Context(), request).Outcome)
	c.Send(t.Context(), request)
	require.Equal(t, 3, world.calls("POST /transferrecipient"), "the refused code is forgotten")
}

func TestSend_boundsItsMemoryOfRecipients(t *testing.T) {
	t.Parallel()
	c, world := newCanned(t, testkit.Noon().Now, 2)
	world.set("/transfer", 200, "{}")
	for _, account := range []payout.AccountNumber{"0000000001", "0000000002", "0000000003", "0000000003"} {
		r := request
		r.Account = account
		c.Send(t.Context(), r)
	}
	require.Equal(t, 3, world.calls("POST /transferrecipient"))
	for _, account := range []payout.AccountNumber{"0000000001", "0000000002", "0000000003"} {
		r := request
		r.Account = account
		c.Send(t.Context(), r)
	}
	require.GreaterOrEqual(t, world.calls("POST /transferrecipient"), 4, "something had to make room")
}

func TestSend_paysNothingWithoutTheRightRecipient(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		status int
		body   string
		want   payout.Outcome
	}{
		{"a validation error", 400, `{"status":false,"type":"validation_error","message":"Account number is invalid"}`, payout.Failed},
		{"another error", 400, `{"status":false,"message":"Try later"}`, payout.NotNow},
		{"a server error", 500, `{"status":false,"type":"validation_error","message":"x"}`, payout.NotNow},
		{"a limit", 429, ``, payout.NotNow},
		{"HTML", 200, `<html>`, payout.NotNow},
		{"no answer", 0, `connection reset`, payout.NotNow},
		{"no code", 201, `{"status":true,"data":{"details":{"account_number":"0123456789","bank_code":"058"}}}`, payout.NotNow},
		{"a code that is none", 201, `{"status":true,"data":{"recipient_code":"../x","details":{"account_number":"0123456789","bank_code":"058"}}}`, payout.NotNow},
		{"another account", 201, `{"status":true,"data":{"recipient_code":"RCP_1","details":{"account_number":"0123456780","bank_code":"058"}}}`, payout.NotNow},
		{"another bank", 201, `{"status":true,"data":{"recipient_code":"RCP_1","details":{"account_number":"0123456789","bank_code":"044"}}}`, payout.NotNow},
		{"no details", 201, `{"status":true,"data":{"recipient_code":"RCP_1"}}`, payout.NotNow},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, world := newCanned(t, testkit.Noon().Now, 0)
			world.set("/transferrecipient", tt.status, tt.body)
			got := c.Send(t.Context(), request)
			require.Equal(t, tt.want, got.Outcome, got.Reason)
			require.True(t, got.Found)
			require.Zero(t, world.calls("POST /transfer {"), "nothing was sent")
		})
	}
}

func TestSend_endsWithinItsOwnTime(t *testing.T) {
	t.Parallel()
	hang := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/transferrecipient" {
			reply := dialect{}.Other(r, raw)
			w.WriteHeader(reply.Status)
			_, _ = io.WriteString(w, reply.Body)
			return
		}
		<-r.Context().Done()
	}))
	t.Cleanup(hang.Close)
	c := newRail(t, paystack.Config{URL: hang.URL, Timeout: 900 * time.Millisecond, ResolveTimeout: 50 * time.Millisecond})
	got := c.Send(t.Context(), request)
	require.Contains(t, []payout.Outcome{payout.Unknown, payout.NotNow}, got.Outcome) // NotNow: a slow machine, no recipient
	require.Contains(t, got.Reason, "took longer than")
	_, err := c.ResolveAccount(t.Context(), "NGN", "058", "0123456789")
	require.True(t, fault.Is(err, "account_check_unavailable"))
	require.ErrorContains(t, err, "took longer than 50ms")
	require.NotContains(t, err.Error(), "0123456789", "an address holds the account number")
}

func TestResolveAccount_namesTheHolderOrSaysWhyNot(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		status int
		body   string
		want   string // code
	}{
		{"found", 200, `{"status":true,"data":{"account_number":"0123456789","account_name":" ADA  OBI ","bank_id":9}}`, ""},
		{"not found", 422, `{"status":false,"message":"Could not resolve account name. Check parameters or try again.","type":"validation_error","code":"invalid_account_number"}`, "account_not_found"},
		{"unknown bank", 400, `{"status":false,"message":"Unknown bank code: 058","type":"validation_error","code":"invalid_bank_code"}`, "bank_unknown"},
		{"an error that says nothing", 400, `{"status":false,"message":"Try again"}`, "account_check_unavailable"},
		{"limited", 429, `{"status":false,"message":"Test mode daily limit of 3 live bank resolves exceeded"}`, "account_check_unavailable"},
		{"broken", 500, `{"status":false,"type":"validation_error"}`, "account_check_unavailable"},
		{"HTML", 200, `<html>`, "account_check_unavailable"},
		{"another account", 200, `{"status":true,"data":{"account_number":"0123456780","account_name":"ADA OBI"}}`, "account_check_unavailable"},
		{"no name", 200, `{"status":true,"data":{"account_number":"0123456789","account_name":""}}`, "account_check_unavailable"},
		{"no answer", 0, `reset`, "account_check_unavailable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, world := newCanned(t, testkit.Noon().Now, 0)
			world.set("/bank/resolve", tt.status, tt.body)
			name, err := c.ResolveAccount(t.Context(), "NGN", "058", "0123456789")
			if tt.want == "" {
				require.NoError(t, err)
				require.Equal(t, "ADA OBI", name)
				return
			}
			require.True(t, fault.Is(err, tt.want), "%v", err)
			require.NotContains(t, err.Error(), "0123456789")
		})
	}
	c, world := newCanned(t, testkit.Noon().Now, 0)
	_, err := c.ResolveAccount(t.Context(), "NGN", "058", "123")
	require.Equal(t, "10", fault.As(err).Args["digits"])
	_, err = c.ResolveAccount(t.Context(), "NGN", "", "0123456789")
	require.True(t, fault.Is(err, "bank_unknown"))
	_, err = c.ResolveAccount(t.Context(), "GHS", "058", "0123456789")
	require.True(t, fault.Is(err, "bank_unknown"))
	require.Empty(t, world.seen)
}

func TestBanks_areKeptForAWhileAndSurviveAnOutage(t *testing.T) {
	t.Parallel()
	clock := testkit.Noon()
	c, world := newCanned(t, clock.Now, 0)
	world.set("/bank", 503, "")
	_, err := c.Banks(t.Context(), "NGN")
	require.True(t, fault.Is(err, "account_check_unavailable"))
	world.set("/bank", 200, `{"status":true,"data":[
		{"name":"Zenith Bank","code":"057","active":true,"is_deleted":false},
		{"name":"Access Bank","code":"044","active":true,"is_deleted":null},
		{"name":"Access Bank again","code":"044","active":true},
		{"name":"Closed Bank","code":"001","active":false},{"name":"Gone Bank","code":"002","is_deleted":true},
		{"name":"","code":"003"},{"name":"No code","code":""},{"name":"Number","code":58}]}`)
	want := []payout.Bank{{Code: "044", Name: "Access Bank"}, {Code: "057", Name: "Zenith Bank"}}
	banks, err := c.Banks(t.Context(), "NGN")
	require.NoError(t, err)
	require.Equal(t, want, banks)
	banks[0].Name = "changed by a caller"
	asked := world.calls("GET /bank")
	clock.Advance(9 * time.Minute)
	banks, err = c.Banks(t.Context(), "NGN")
	require.NoError(t, err)
	require.Equal(t, want, banks)
	require.Equal(t, asked, world.calls("GET /bank"))
	world.set("/bank", 200, `{"status":true,"data":[]}`)
	clock.Advance(2 * time.Minute)
	banks, err = c.Banks(t.Context(), "NGN")
	require.NoError(t, err)
	require.Equal(t, want, banks, "an old list is better than none")
	require.Equal(t, asked+1, world.calls("GET /bank"))
	_, err = c.Banks(t.Context(), "GHS")
	require.Error(t, err)
}

func TestBalance_isTheFloatOfTheCurrency(t *testing.T) {
	t.Parallel()
	c, world := newCanned(t, testkit.Noon().Now, 0)
	got, err := c.Balance(t.Context(), "NGN")
	require.NoError(t, err)
	require.Equal(t, money.Minor(123456), got)
	_, err = c.Balance(t.Context(), "KES")
	require.Error(t, err)
	for _, body := range []string{`{"status":true,"data":[{"currency":"NGN","balance":"123456"}]}`, `{"status":true,"data":{}}`, `{"status":false}`, `<html>`} {
		world.set("/balance", 200, body)
		_, err = c.Balance(t.Context(), "NGN")
		require.Error(t, err, body)
	}
}

func TestParseWebhook_namesOtherEventsToo(t *testing.T) {
	t.Parallel()
	c, _ := newCanned(t, testkit.Noon().Now, 0)
	parse := func(raw string) (payout.Callback, error) {
		return c.ParseWebhook([]byte(raw), sign(raw, payouttest.Key).Get)
	}
	callback, err := parse(`{"event":"charge.success","data":{"reference":"x","status":"success"}}`)
	require.NoError(t, err)
	require.Equal(t, payout.Callback{Event: "charge.success", Reference: "x", Status: "success"}, callback)
	callback, err = parse(`{"event":"transfer.success","data":[]}`)
	require.NoError(t, err)
	require.Empty(t, callback.Reference)
	for _, raw := range []string{`{}`, `[]`, `null`, `x`, `{"event":""}`, `{"event":1}`} {
		_, err = parse(raw)
		require.True(t, fault.Is(err, "body_invalid"), raw)
	}
	_, err = c.ParseWebhook([]byte(`{"event":"x"}`), sign(`{"event":"x"}`, payouttest.PreviousKey).Get)
	require.True(t, fault.Is(err, "signature_invalid"), "no previous key is set here")
}

func TestParseApproval_readsBothForms(t *testing.T) {
	t.Parallel()
	c, _ := newCanned(t, testkit.Noon().Now, 0)
	parse := func(raw string) (string, money.Minor, error) {
		return c.ParseApproval([]byte(raw), sign(raw, payouttest.Key).Get)
	}
	for _, raw := range []string{
		`{"reference":"ofr-sample-reference","amount":1500000}`,
		`{"event":"x","data":{"reference":"ofr-sample-reference","amount":1500000,"currency":"NGN"}}`,
	} {
		reference, amount, err := parse(raw)
		require.NoError(t, err)
		require.Equal(t, "ofr-sample-reference", reference)
		require.Equal(t, money.Minor(1_500_000), amount)
	}
	for _, raw := range []string{
		`{"reference":"ofr-sample-reference","amount":"1500000"}`, `{"reference":"ofr-sample-reference"}`, `{"amount":5}`,
		`{"reference":"OFR","amount":5}`, `{"reference":"ofr-sample-reference","amount":1500000,"currency":"GHS"}`,
	} {
		_, _, err := parse(raw)
		require.True(t, fault.Is(err, "body_invalid"), raw)
	}
}

func TestRetryAfter_isReadAsSecondsOrDate(t *testing.T) {
	t.Parallel()
	clock := testkit.Noon()
	for header, want := range map[string]time.Duration{
		"7": 7 * time.Second, "": 0, "-3": 0, "soon": 0, "999999999999": 0, "99999": time.Hour,
		clock.Now().Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		clock.Now().Add(-time.Hour).Format(http.TimeFormat):       0,
	} {
		c, world := newCanned(t, clock.Now, 0)
		world.replies = map[string]payouttest.Reply{"/transfer": {Status: 429, Header: http.Header{"Retry-After": {header}}}}
		require.Equal(t, want, c.Send(t.Context(), request).RetryAfter, header)
	}
}

func TestNew_refusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	key, now := config.NewSecret("sk"), testkit.Noon().Now
	for name, make := range map[string]func() (*paystack.Client, error){
		"no clock": func() (*paystack.Client, error) {
			return paystack.New(paystack.Config{URL: "https://x", SecretKey: key}, nil, nil)
		},
		"no key":     func() (*paystack.Client, error) { return paystack.New(paystack.Config{URL: "https://x"}, nil, now) },
		"no address": func() (*paystack.Client, error) { return paystack.New(paystack.Config{SecretKey: key}, nil, now) },
		"another scheme": func() (*paystack.Client, error) {
			return paystack.New(paystack.Config{URL: "ftp://x", SecretKey: key}, nil, now)
		},
		"a password": func() (*paystack.Client, error) {
			return paystack.New(paystack.Config{URL: "https://a:b@x", SecretKey: key}, nil, now)
		},
		"negative time": func() (*paystack.Client, error) {
			return paystack.New(paystack.Config{URL: "https://x", SecretKey: key, Timeout: -1}, nil, now)
		},
	} {
		_, err := make()
		require.Error(t, err, name)
	}
}

func TestClient_declaresNairaInKobo(t *testing.T) {
	t.Parallel()
	c, _ := newCanned(t, testkit.Noon().Now, 0)
	got := c.Currencies()
	require.Equal(t, map[string]int{"NGN": 2}, got)
	got["USD"] = 2
	require.Len(t, c.Currencies(), 1, "nobody adds a currency from outside")
	require.Equal(t, "paystack", c.Name())
	require.True(t, c.SameReferenceSafe())
}

// FuzzLookUp: whatever the answer, a payout is paid only when it says so about our reference in our currency.
func FuzzLookUp(f *testing.F) {
	files, err := filepath.Glob("testdata/samples/*.http")
	require.NoError(f, err)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(f, err)
		first, body, _ := strings.Cut(string(raw), "\n")
		status, err := strconv.Atoi(first)
		require.NoError(f, err)
		f.Add(status, body)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		if status < 200 || status > 599 {
			return
		}
		c, world := newCanned(t, testkit.Noon().Now, 0)
		world.set(verifyPath, status, body)
		got := c.LookUp(context.WithoutCancel(t.Context()), request.Reference)
		if !got.Found {
			require.Equal(t, 404, status)
			require.Contains(t, body, "Transfer not found")
		}
		if got.Outcome != payout.Unknown {
			require.Equal(t, 200, status)
			require.Equal(t, request.Reference, got.Reference)
			require.Equal(t, "NGN", got.Currency)
			require.Positive(t, got.Amount)
			require.NotEmpty(t, got.RawStatus)
		}
		if got.Outcome == payout.Success {
			require.Equal(t, "success", got.RawStatus)
		}
	})
}
