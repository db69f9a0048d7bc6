package sandbox

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

type mineLever struct {
	Blocks int `json:"blocks"`
}

type reorgLever struct {
	Depth int      `json:"depth"`
	Drop  []string `json:"drop"`
	Shift int      `json:"shift"` // mines what is not dropped this many blocks later than before
}

type secondsLever struct {
	Seconds *int `json:"seconds"`
}

type stallLever struct {
	Stalled *bool `json:"stalled"`
}

// duration reads whole seconds, 0 for "by hand".
func (l secondsLever) duration() (time.Duration, error) {
	if l.Seconds == nil || *l.Seconds < 0 || *l.Seconds > 86_400 {
		return 0, invalid("seconds_invalid", "seconds must be 0 to 86400")
	}
	return time.Duration(*l.Seconds) * time.Second, nil
}

func (w *World) chainOf(c *gin.Context) (*chain, error) {
	found := w.chains[c.Param("chain")]
	if found == nil {
		return nil, notFound("chain_unknown", "there is no chain %q", c.Param("chain"))
	}
	return found, nil
}

func (w *World) postChainTransfer(c *gin.Context, in transferLever) (any, error) {
	chain, err := w.chainOf(c)
	if err != nil {
		return nil, err
	}
	return chain.transfer(in)
}

func (w *World) postMine(c *gin.Context, in mineLever) (any, error) {
	chain, err := w.chainOf(c)
	if err != nil {
		return nil, err
	}
	height, err := chain.mine(in.Blocks)
	return gin.H{"height": height}, err
}

func (w *World) postReorg(c *gin.Context, in reorgLever) (any, error) {
	chain, err := w.chainOf(c)
	if err != nil {
		return nil, err
	}
	return chain.reorg(in.Depth, in.Drop, in.Shift)
}

func (w *World) postChainAuto(c *gin.Context, in secondsLever) (any, error) {
	chain, err := w.chainOf(c)
	if err != nil {
		return nil, err
	}
	every, err := in.duration()
	if err != nil {
		return nil, err
	}
	chain.setAuto(every)
	return gin.H{"seconds": *in.Seconds}, nil
}

func (w *World) postStall(c *gin.Context, in stallLever) (any, error) {
	chain, err := w.chainOf(c)
	if err != nil {
		return nil, err
	}
	if in.Stalled == nil {
		return nil, invalid("stalled_invalid", "stalled must be true or false")
	}
	return gin.H{"stalled": *in.Stalled, "height": chain.stall(*in.Stalled)}, nil
}

func (w *World) listChains(c *gin.Context) {
	views := []chainView{}
	for _, name := range w.chainNames() {
		views = append(views, w.chains[name].view())
	}
	c.JSON(http.StatusOK, listOf(views))
}

func (w *World) getChain(c *gin.Context) {
	chain, err := w.chainOf(c)
	if err != nil {
		w.respond(c, nil, err)
		return
	}
	c.JSON(http.StatusOK, chain.view())
}
