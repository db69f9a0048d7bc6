package sandbox

import (
	"embed"
	"net/http"
	"path"
	"strings"

	"github.com/gin-gonic/gin"
)

// pageFiles is the phone page: a browser chat for several phones beside chain, bank and faults. It is plain HTML, CSS and
// JavaScript modules; what it does goes over the world API.
//
//go:embed page
var pageFiles embed.FS

// pagePolicy lets the page load its own files only and run no inline script; with trusted types refused, no text can
// become HTML. Pictures of Flow screens travel as base64, so images may also be data.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// pageType is the media type of a file of the page, "" for a name that the page has no file of. It does not ask the
// machine's own table, which may call a script plain text.
func pageType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return ""
}

func (w *World) getPage(c *gin.Context) { servePageFile(c, "/index.html") }

// getAsset serves the files beside the page.
func (w *World) getAsset(c *gin.Context) { servePageFile(c, path.Clean("/"+c.Param("file"))) }

func servePageFile(c *gin.Context, name string) {
	body, err := pageFiles.ReadFile("page" + name)
	kind := pageType(name)
	if err != nil || kind == "" {
		c.JSON(http.StatusNotFound, gin.H{"error": "route_unknown", "message": "there is no " + strings.TrimPrefix(name, "/")})
		return
	}
	c.Header("Content-Security-Policy", pagePolicy)
	c.Header("X-Content-Type-Options", "nosniff")
	c.Header("Referrer-Policy", "no-referrer")
	c.Header("Cache-Control", "no-cache")
	c.Data(http.StatusOK, kind, body)
}
