package sandbox

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// Handler serves the whole world on one address: providers, chains, levers and the phone page.
func (w *World) Handler() http.Handler {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.RedirectTrailingSlash = false
	r.Any("/graph/*path", w.serveGraph)
	r.Any("/paystack/*path", w.servePaystack)
	r.POST("/rpc/:chain", w.serveRPC)

	world := r.Group("/world")
	world.POST("/messages", lever(w, w.postWorldMessage))
	world.GET("/chats", w.listChats)
	world.GET("/chats/:phone", w.getChat)
	world.POST("/flows/open", lever(w, w.openWorldFlow))
	world.POST("/flows/submit", lever(w, w.submitWorldFlow))
	world.POST("/flows/back", lever(w, w.backWorldFlow))
	world.GET("/flows/sessions/:session", w.getFlowSession)
	world.GET("/media/:id", w.getMedia)
	world.GET("/orders", w.getOrderTable)
	world.GET("/orders/:reference", w.getOrder)
	world.GET("/chains", w.listChains)
	world.GET("/chains/:chain", w.getChain)
	world.POST("/chains/:chain/transfers", lever(w, w.postChainTransfer))
	world.POST("/chains/:chain/mine", lever(w, w.postMine))
	world.POST("/chains/:chain/reorg", lever(w, w.postReorg))
	world.POST("/chains/:chain/auto", lever(w, w.postChainAuto))
	world.POST("/chains/:chain/stall", lever(w, w.postStall))
	world.GET("/bank/transfers", w.listBankTransfers)
	world.POST("/bank/transfers/:reference", lever(w, w.postSettle))
	world.POST("/bank/auto", lever(w, w.postBankAuto))
	world.POST("/bank/balance", lever(w, w.postBankBalance))
	world.GET("/faults", w.listFaults)
	world.POST("/faults", lever(w, w.postFault))
	world.DELETE("/faults", w.deleteFaults)
	world.GET("/state", w.getState)
	world.GET("/info", w.getInfo)
	world.GET("/events", w.getEvents)
	world.GET("/schema", w.getSchema)

	r.GET("/healthz", func(c *gin.Context) { c.String(http.StatusOK, "ok") })
	r.GET("/", w.getPage)
	r.GET("/assets/*file", w.getAsset)
	r.NoRoute(func(c *gin.Context) {
		c.JSON(http.StatusNotFound, gin.H{"error": "route_unknown", "message": "there is no " + c.Request.URL.Path})
	})
	return r
}
