package guard_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"offrampbot/services/fault"
	"offrampbot/services/guard"
	"offrampbot/services/redishook/redistest"
)

func TestKey_changesWithEachOfTheSixFields(t *testing.T) {
	t.Parallel()
	key := []byte("a lookup key")
	same := content
	same.Asset, same.Chain, same.Bank = "usdt", " BSC", "058 "
	require.Equal(t, guard.Key(key, content), guard.Key(key, same), "spelling is not content")
	require.NotEqual(t, guard.Key(key, content), guard.Key([]byte("another key"), content))
	changes := map[string]func(*guard.Content){
		"user":    func(c *guard.Content) { c.User = "user-2" },
		"amount":  func(c *guard.Content) { c.Amount-- },
		"bank":    func(c *guard.Content) { c.Bank = "059" },
		"account": func(c *guard.Content) { c.Account = "0123456780" },
		"asset":   func(c *guard.Content) { c.Asset = "USDC" },
		"chain":   func(c *guard.Content) { c.Chain = "polygon" },
	}
	for name, change := range changes {
		c := content
		change(&c)
		require.NotEqual(t, guard.Key(key, content), guard.Key(key, c), name)
	}
	require.NotContains(t, guard.Key(key, content), content.Account)
}

func TestKey_fieldsNeverRunIntoEachOther(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-c:|]{0,3}`)
		draw := func() guard.Content {
			return guard.Content{User: word.Draw(t, "user"), Bank: word.Draw(t, "bank"), Account: word.Draw(t, "account")}
		}
		a, b := draw(), draw()
		require.Equal(t, a == b, guard.Key([]byte("k"), a) == guard.Key([]byte("k"), b))
	})
}

func TestClaim_lives(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		h := newHarness(t, s, guard.Config{})
		require.True(t, h.claim(guard.Flow, "intent-1").Allowed())
		require.Equal(t, fmt.Sprintf("processing|intent-1|%d", noon.UnixMilli()), h.value(guard.Flow))
		h.wantLife(guard.Flow, 600*time.Second)
		h.guard.Transferred(t.Context(), h.digest, "intent-1")
		require.Contains(t, h.value(guard.Flow), "transfer_completed|")
		h.wantLife(guard.Flow, 600*time.Second)
		h.guard.Completed(t.Context(), h.digest, "intent-1")
		require.Contains(t, h.value(guard.Flow), "completed|")
		h.wantLife(guard.Flow, 300*time.Second)
		require.Empty(t, h.value(guard.Page), "one claim, one key")
	})
}

func TestClaim_failedFreesTheContent(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		h := newHarness(t, s, guard.Config{})
		require.True(t, h.claim(guard.Page, "intent-1").Allowed())
		h.guard.Failed(t.Context(), h.digest, "intent-1")
		require.Contains(t, h.value(guard.Page), "failed|intent-1|")
		h.wantLife(guard.Page, 300*time.Second)
		require.Equal(t, 1, h.metrics.cleanup)
		require.True(t, h.claim(guard.Flow, "intent-2").Allowed(), "case 4: failed, put right, again at once")
		require.Contains(t, h.value(guard.Flow), "processing|intent-2|")
	})
}

func TestClaim_everyOtherStateRefusesOnBothChannels(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for _, value := range []string{
			"processing|intent-1|%d", "transfer_completed|intent-1|%d", "completed|intent-1|%d", // known (W5)
			"unheard_of|intent-1|%d", "OK", "", "|", "failed-or-so|intent-1|%d", // not known
		} {
			for _, held := range []guard.Channel{guard.Flow, guard.Page} {
				for _, asked := range []guard.Channel{guard.Flow, guard.Page} {
					s := s
					s.Prefix += fmt.Sprintf("%x:%s:%s:", value, held, asked)
					h := newHarness(t, s, guard.Config{})
					stored := strings.ReplaceAll(value, "%d", fmt.Sprint(noon.UnixMilli()))
					require.NoError(t, s.Client.Set(t.Context(), h.key(held), stored, time.Minute).Err())
					require.Equal(t, guard.Refused, h.claim(asked, "intent-2").Verdict, "%q", value)
					require.Equal(t, stored, h.value(held))
				}
			}
		}
	})
}

func TestClaim_20AtOnceAllowOne(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for _, copies := range []bool{true, false} {
			s := s
			s.Prefix += fmt.Sprint(copies)
			h := newHarness(t, s, guard.Config{})
			verdicts := make(chan guard.Verdict, 20)
			var wg sync.WaitGroup
			for i := range 20 {
				wg.Go(func() {
					intent := "intent-1"
					if !copies {
						intent = fmt.Sprintf("intent-%d", i)
					}
					d, err := h.guard.Claim(t.Context(), h.digest, []guard.Channel{guard.Flow, guard.Page}[i%2], intent, noon)
					if err == nil {
						verdicts <- d.Verdict
					}
				})
			}
			wg.Wait()
			close(verdicts)
			count := map[guard.Verdict]int{}
			for v := range verdicts {
				count[v]++
			}
			want := map[guard.Verdict]int{guard.Claimed: 1, guard.Refused: 19}
			if copies {
				want = map[guard.Verdict]int{guard.Claimed: 1, guard.Own: 19}
			}
			require.Equal(t, want, count)
			require.Equal(t, 19, h.metrics.blocked["flow"]+h.metrics.blocked["page"])
			require.Len(t, h.metrics.intervals, 19)
		}
	})
}

func TestClaim_saysExactlyThis(t *testing.T) {
	t.Parallel()
	h := newHarness(t, redistest.Mini(t), guard.Config{})
	require.True(t, h.claim(guard.Flow, "intent-1").Allowed())
	d := h.claim(guard.Flow, "intent-2")
	require.Equal(t, "Transaction already in progress. Please wait for completion.", d.Flow.English)
	require.Equal(t, "⏳ Transaction In Progress\n\nYour transaction is already being processed. "+
		"Please wait for completion.\n\nDo not submit your PIN again.", d.Chat.English)
	require.True(t, fault.Is(d.Fault(), "order_in_progress"))

	h.guard.Completed(t.Context(), h.digest, "intent-1")
	h.orders.set(guard.Found{Intent: "intent-1", Reference: "7K3M9QX2B", State: guard.Completed, At: h.now})
	h.wait(2*time.Minute + 59*time.Second)
	d = h.claim(guard.Flow, "intent-2")
	require.Equal(t, "Transaction already completed 2 minute(s) ago. Reference: 7K3M9QX2B", d.Flow.English)
	require.Equal(t, "✅ Transaction Already Completed\n\nThis transaction was already processed successfully "+
		"2 minute(s) ago.\n\nReference: 7K3M9QX2B\n\nType *offramp* to start a new transaction.", d.Chat.English)
	require.True(t, fault.Is(d.Fault(), "order_completed"))
	require.Equal(t, guard.Refused, d.Verdict)

	h.now = noon.Add(-time.Hour)
	d = h.claim(guard.Page, "intent-2")
	require.Equal(t, "Transaction already completed 0 minute(s) ago. Reference: 7K3M9QX2B", d.Flow.English,
		"minutes are never negative, also when clocks differ")

	h.orders.err = errors.New("store is slow")
	d = h.claim(guard.Flow, "intent-2")
	require.Equal(t, "Transaction already completed 0 minute(s) ago.", d.Flow.English, "no reference is better than a wrong one")
	require.Equal(t, "✅ Transaction Already Completed\n\nThis transaction was already processed successfully "+
		"0 minute(s) ago.\n\nType *offramp* to start a new transaction.", d.Chat.English)
	require.Empty(t, d.Reference)
	require.NotContains(t, fmt.Sprint(d.Flow, d.Chat), "intent-1")
	require.NoError(t, guard.Decision{Verdict: guard.Claimed}.Fault())
}

func TestCatalogue_hasTheSameTexts(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../texts/en/guard.json")
	require.NoError(t, err)
	var texts map[string]string
	require.NoError(t, json.Unmarshal(raw, &texts))
	h := newHarness(t, redistest.Mini(t), guard.Config{})
	h.claim(guard.Flow, "intent-1")
	d := h.claim(guard.Flow, "intent-2")
	h.guard.Completed(t.Context(), h.digest, "intent-1")
	h.wait(time.Minute)
	unnamed := h.claim(guard.Flow, "intent-2")
	h.orders.set(guard.Found{Intent: "intent-1", Reference: "7K3M9QX2B", State: guard.Completed, At: h.now})
	done := h.claim(guard.Flow, "intent-2")
	require.Len(t, texts, 6)
	seen := map[string]bool{}
	for _, text := range []guard.Text{d.Flow, d.Chat, done.Flow, done.Chat, unnamed.Flow, unnamed.Chat} {
		seen[text.Key] = true
		got := texts[text.Key]
		for name, value := range text.Args {
			got = strings.ReplaceAll(got, "{"+name+"}", value)
		}
		require.Equal(t, text.English, got, text.Key)
		require.NotContains(t, got, "{")
	}
	require.Len(t, seen, len(texts))
}

func TestClaim_logsWithoutPersonalData(t *testing.T) {
	t.Parallel()
	h := newHarness(t, redistest.Mini(t), guard.Config{})
	h.claim(guard.Flow, "intent-1")
	h.claim(guard.Flow, "intent-2")
	h.claim(guard.Page, "intent-3")
	h.guard.Transferred(t.Context(), h.digest, "intent-1")
	h.guard.Completed(t.Context(), h.digest, "intent-1")
	for _, line := range []string{
		`"[OFFRAMP] Idempotency check passed. Transaction marked as processing"`,
		`"[OFFRAMP] Duplicate transaction attempt detected"`,
		`"[OFFRAMP] Duplicate PIN submission detected"`,
		`"[OFFRAMP] Transaction marked as completed"`,
	} {
		require.Equal(t, 1, strings.Count(h.log.String(), line), line)
	}
	require.NotContains(t, h.log.String(), content.Account)
	require.Equal(t, map[string]int{"flow": 1, "page": 1}, h.metrics.blocked)
}

func TestSale_costsThreeRoundTrips(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		h := newHarness(t, s, guard.Config{})
		before := h.trips.n.Load()
		h.claim(guard.Flow, "intent-1")
		h.place("intent-1")
		h.guard.Transferred(t.Context(), h.digest, "intent-1")
		h.guard.Completed(t.Context(), h.digest, "intent-1")
		require.EqualValues(t, 3, h.trips.n.Load()-before)
	})
}

func TestFree_afterAWrongPIN(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		h := newHarness(t, s, guard.Config{})
		h.claim(guard.Page, "intent-1")
		h.guard.Free(t.Context(), h.digest, "intent-2")
		require.NotEmpty(t, h.value(guard.Page), "somebody else's claim stays")
		h.guard.Free(t.Context(), h.digest, "intent-1")
		require.Empty(t, h.value(guard.Page))
		h.claim(guard.Page, "intent-1")
		h.guard.Transferred(t.Context(), h.digest, "intent-1")
		h.guard.Free(t.Context(), h.digest, "intent-1")
		require.Contains(t, h.value(guard.Page), "transfer_completed|", "what is past processing is never freed (W3)")
	})
}

func TestClaim_anAbandonedClaimIsTakenOver(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for _, intent := range []string{"intent-1", "intent-2"} {
			s := s
			s.Prefix += intent
			h := newHarness(t, s, guard.Config{TakeOverAfter: 15 * time.Second})
			h.claim(guard.Flow, "intent-1") // and the process dies before it places an order
			h.now = noon.Add(14 * time.Second)
			require.False(t, h.claim(guard.Page, intent).Allowed(), "it may be at work")
			h.now = noon.Add(15 * time.Second)
			d := h.claim(guard.Page, intent)
			require.True(t, d.Allowed())
			require.True(t, d.TakenOver)
			require.Empty(t, h.value(guard.Flow))
			require.Contains(t, h.value(guard.Page), "processing|"+intent+"|")
			require.Equal(t, 1, h.metrics.cleanup)
			require.False(t, h.claim(guard.Flow, "intent-3").Allowed())
		}
	})
}

func TestClaim_aClaimWithAnOrderIsNeverTakenOver(t *testing.T) {
	t.Parallel()
	h := newHarness(t, redistest.Mini(t), guard.Config{})
	h.claim(guard.Flow, "intent-1")
	h.place("intent-1")
	h.now = noon.Add(time.Hour)
	require.Equal(t, guard.Refused, h.claim(guard.Flow, "intent-2").Verdict)
	own := h.claim(guard.Flow, "intent-1")
	require.Equal(t, guard.Own, own.Verdict)
	require.True(t, own.Ordered)
	h.orders.err = errors.New("store is down")
	require.Equal(t, guard.Refused, h.claim(guard.Flow, "intent-2").Verdict, "not known is not absent")
}

func TestClaim_anAbsentKeyIsCheckedAgainstTheStore(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		h := newHarness(t, s, guard.Config{})
		h.claim(guard.Flow, "intent-1")
		h.place("intent-1")
		require.NoError(t, s.Client.Del(t.Context(), h.key(guard.Flow)).Err()) // Redis was flushed
		d := h.claim(guard.Flow, "intent-2")
		require.Equal(t, guard.Refused, d.Verdict)
		require.Equal(t, "intent-1", d.Intent)
		require.Empty(t, h.value(guard.Flow), "the claim that the store contradicts was taken back")
		require.Equal(t, guard.Own, h.claim(guard.Flow, "intent-1").Verdict)

		h.orders.err = errors.New("store is down")
		require.NoError(t, s.Client.Del(t.Context(), h.key(guard.Flow)).Err())
		_, err := h.guard.Claim(t.Context(), h.digest, guard.Flow, "intent-2", h.now)
		require.Error(t, err)
		require.Empty(t, h.value(guard.Flow))
	})
}

func TestClaim_withoutRedisTheStoreDecides(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]*redis.Client{
		"stopped": redistest.Stopped(t), "hanging": redistest.Hanging(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, redistest.Server{Client: client}, guard.Config{Timeout: 50 * time.Millisecond})
			d := h.claim(guard.Flow, "intent-1")
			require.True(t, d.Allowed())
			require.True(t, d.FromStore)
			h.place("intent-1")
			d = h.claim(guard.Page, "intent-2")
			require.Equal(t, guard.Refused, d.Verdict, "an error never means free")
			require.Equal(t, "Transaction already in progress. Please wait for completion.", d.Flow.English)
			require.Equal(t, guard.Own, h.claim(guard.Flow, "intent-1").Verdict)
			h.orders.set(guard.Found{Intent: "intent-1", Reference: "7K3M9QX2B", State: guard.Completed, At: noon})
			h.now = noon.Add(4 * time.Minute)
			require.Equal(t, "Transaction already completed 4 minute(s) ago. Reference: 7K3M9QX2B",
				h.claim(guard.Flow, "intent-2").Flow.English)

			h.guard.Transferred(t.Context(), h.digest, "intent-1") // none of these fails or blocks for long
			h.guard.Completed(t.Context(), h.digest, "intent-1")
			h.guard.Failed(t.Context(), h.digest, "intent-1")
			h.guard.Returned(t.Context(), h.digest, "intent-1")
			h.guard.Renew(t.Context(), h.digest, "intent-1")
			h.guard.Free(t.Context(), h.digest, "intent-1")
			require.Equal(t, 6, strings.Count(h.log.String(), "guard was not told"))

			h.orders.err = errors.New("store is down")
			_, err := h.guard.Claim(t.Context(), h.digest, guard.Flow, "intent-3", h.now)
			require.ErrorIs(t, err, h.orders.err, "neither answers: refuse (W10)")
		})
	}
}

func TestClaimSecond_isTheUsersOwnWish(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		h := newHarness(t, s, guard.Config{})
		h.claim(guard.Flow, "intent-1")
		h.place("intent-1")
		d, err := h.guard.ClaimSecond(t.Context(), h.digest, guard.Flow, "intent-2", h.now)
		require.NoError(t, err)
		require.True(t, d.Allowed())
		d, err = h.guard.ClaimSecond(t.Context(), h.digest, guard.Page, "intent-2", h.now)
		require.NoError(t, err)
		require.Equal(t, guard.Own, d.Verdict, "a copy of the second payment is still a copy")
		h.guard.Completed(t.Context(), h.digest, "intent-1")
		require.Contains(t, h.value(guard.Flow), "processing|intent-2|", "the first order leaves the second's claim alone")
	})
}

func TestContentCheckOff_turnsOffOnlyTheCourtesy(t *testing.T) {
	t.Parallel()
	h := newHarness(t, redistest.Mini(t), guard.Config{ContentCheckOff: true})
	require.True(t, h.claim(guard.Flow, "intent-1").Allowed())
	require.Equal(t, guard.Own, h.claim(guard.Flow, "intent-1").Verdict)
	require.True(t, h.claim(guard.Flow, "intent-2").Allowed())
}

func TestRenew_keepsAnOpenOrderGuarded(t *testing.T) {
	t.Parallel()
	s := redistest.Mini(t)
	h := newHarness(t, s, guard.Config{})
	h.claim(guard.Page, "intent-1")
	for range 3 {
		h.wait(599 * time.Second)
		h.guard.Renew(t.Context(), h.digest, "intent-1")
		h.wantLife(guard.Page, 600*time.Second)
	}
	require.Zero(t, h.metrics.expired)
	h.wait(601 * time.Second)
	require.Empty(t, h.value(guard.Page))
	h.guard.Renew(t.Context(), h.digest, "intent-1")
	require.Equal(t, 1, h.metrics.expired)
	require.Contains(t, h.value(guard.Flow), "processing|intent-1|")
	h.guard.Completed(t.Context(), h.digest, "intent-1")
	h.wait(200 * time.Second)
	h.guard.Renew(t.Context(), h.digest, "intent-1")
	h.wait(101 * time.Second)
	require.Empty(t, h.value(guard.Flow), "what is completed is not prolonged")
}

func TestClaim_afterElevenMinutes(t *testing.T) {
	t.Parallel()
	h := newHarness(t, redistest.Mini(t), guard.Config{})
	h.claim(guard.Flow, "intent-1")
	h.place("intent-1")
	h.wait(11 * time.Minute)
	require.Equal(t, guard.Refused, h.claim(guard.Flow, "intent-2").Verdict, "an open order is not forgotten (W4)")
	h.orders.forget()
	require.True(t, h.claim(guard.Flow, "intent-2").Allowed(), "case 5")
}

// The states only move down the list of the package comment, whatever is called in whatever order, and never touch
// another intent's claim (R60).
func TestMove_onlyAlongTheAllowedEdges(t *testing.T) {
	t.Parallel()
	s := redistest.Mini(t)
	rank := map[string]int{"processing": 1, "transfer_completed": 2, "completed": 3, "failed": 3}
	rapid.Check(t, func(rt *rapid.T) {
		require.NoError(rt, s.Client.FlushAll(t.Context()).Err())
		h := newHarness(t, s, guard.Config{})
		h.claim(guard.Flow, "intent-1")
		holds := func() (state, intent string) {
			part := strings.Split(h.value(guard.Flow), "|")
			return part[0], part[1]
		}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			before, owner := holds()
			intent := rapid.SampledFrom([]string{"intent-1", "intent-1", "intent-2"}).Draw(rt, "intent")
			step := rapid.IntRange(1, 5).Draw(rt, "step")
			switch step {
			case 1:
				h.guard.Transferred(t.Context(), h.digest, intent)
			case 2:
				h.guard.Completed(t.Context(), h.digest, intent)
			case 3:
				h.guard.Failed(t.Context(), h.digest, intent)
			case 4:
				h.guard.Renew(t.Context(), h.digest, intent)
			case 5:
				h.guard.Returned(t.Context(), h.digest, intent)
			}
			after, now := holds()
			switch {
			case now != owner:
				require.Equal(rt, "failed", before, "only a failed claim makes room for another intent")
			case step == 5 && before == "completed" && intent == owner:
				require.Equal(rt, "failed", after, "a returned sale frees what was completed, and nothing else does")
			case after != before:
				require.Greater(rt, rank[after], rank[before], "%s → %s", before, after)
				require.Equal(rt, owner, intent)
			}
		}
	})
}

func TestNew_refusesMissingDependencies(t *testing.T) {
	t.Parallel()
	deps := guard.Deps{
		Client: redistest.Stopped(t), Orders: &orders{}, Metrics: &metrics{},
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return noon },
	}
	for name, without := range map[string]func(*guard.Deps){
		"Client": func(d *guard.Deps) { d.Client = nil }, "Orders": func(d *guard.Deps) { d.Orders = nil },
		"Metrics": func(d *guard.Deps) { d.Metrics = nil }, "Log": func(d *guard.Deps) { d.Log = nil },
		"Now": func(d *guard.Deps) { d.Now = nil },
	} {
		broken := deps
		without(&broken)
		_, err := guard.New(broken, guard.Config{})
		require.ErrorContains(t, err, name)
	}
}
