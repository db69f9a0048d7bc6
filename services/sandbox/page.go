package sandbox

import (
	"embed"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/gin-gonic/gin"
)

// pageFiles is the phone page: a browser chat for several phones beside chain, bank and faults.
//
//go:embed page
var pageFiles embed.FS

func (w *World) getPage(c *gin.Context) { servePageFile(c, "page/index.html") }

// getAsset serves a file of the page, from its folder assets or beside the page.
func (w *World) getAsset(c *gin.Context) {
	name := path.Clean("/" + c.Param("file"))
	if _, err := fs.Stat(pageFiles, "page/assets"+name); err == nil {
		servePageFile(c, "page/assets"+name)
		return
	}
	servePageFile(c, "page"+name)
}

func servePageFile(c *gin.Context, name string) {
	body, err := pageFiles.ReadFile(name)
	if err != nil {
		c.JSON(http.StatusNotFound, gin.H{"error": "route_unknown", "message": "there is no " + strings.TrimPrefix(name, "page")})
		return
	}
	kind := mime.TypeByExtension(path.Ext(name))
	if kind == "" {
		kind = "application/octet-stream"
	}
	c.Header("Cache-Control", "no-cache")
	c.Data(http.StatusOK, kind, body)
}
