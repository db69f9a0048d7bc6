package offramp

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// toldGuard remembers what it was told.
type toldGuard struct{ told []string }

func (g *toldGuard) Transferred(_ context.Context, content, intent string) {
	g.told = append(g.told, "transferred "+content+" "+intent)
}

func (g *toldGuard) Completed(_ context.Context, content, intent string) {
	g.told = append(g.told, "completed "+content+" "+intent)
}

func (g *toldGuard) Failed(_ context.Context, content, intent string) {
	g.told = append(g.told, "failed "+content+" "+intent)
}

func (g *toldGuard) Returned(_ context.Context, content, intent string) {
	g.told = append(g.told, "returned "+content+" "+intent)
}

type deafWatcher struct{ Watcher }

func (deafWatcher) Moved(context.Context, Moved) {}

func TestGuard_isToldWhereAnOrderWent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		from, to State
		want     []string
	}{
		{Deposit, Exchange, []string{"transferred c o"}},
		{Review, Exchange, nil},
		{Sending, Unclear, nil},
		{Sending, Success, []string{"completed c o"}},
		{Success, Success, nil},
		{Sending, Failed, []string{"failed c o"}},
		{Waiting, Cancelled, []string{"failed c o"}},
		{Success, Returned, []string{"returned c o"}},
		{Returned, Returned, nil},
	} {
		t.Run(string(tt.from)+" to "+string(tt.to), func(t *testing.T) {
			t.Parallel()
			o := &Order{State: tt.to, Content: "c"}
			o.ID = "o"
			g := &toldGuard{}
			s := &Service{watcher: deafWatcher{}, guard: g}
			s.after(t.Context(), &unit{moved: []Moved{{Order: o, From: tt.from}}})
			require.Equal(t, tt.want, g.told)
		})
	}
}
