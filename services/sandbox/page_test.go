package sandbox

import (
	"io"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	flowsjson "offrampbot/flows_json"
)

// pageSources returns the text files of the page by name.
func pageSources(t *testing.T) map[string]string {
	t.Helper()
	out := make(map[string]string)
	require.NoError(t, fs.WalkDir(pageFiles, "page", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(pageFiles, name)
		out[strings.TrimPrefix(name, "page/")] = string(body)
		return err
	}))
	return out
}

func (h *harness) page(name string) (status int, header http.Header, body string) {
	h.t.Helper()
	res, err := h.do(http.MethodGet, name, nil)
	require.NoError(h.t, err)
	raw, err := io.ReadAll(res.Body)
	require.NoError(h.t, err)
	require.NoError(h.t, res.Body.Close())
	return res.StatusCode, res.Header, string(raw)
}

func TestPage_servesEveryFileUnderAStrictPolicy(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	addresses := map[string]string{"/": "text/html; charset=utf-8"}
	for name := range pageSources(t) {
		if path.Ext(name) != ".html" {
			addresses["/assets/"+name] = pageType(name)
		}
	}
	require.Equal(t, "text/javascript; charset=utf-8", addresses["/assets/main.js"])
	for address, kind := range addresses {
		status, header, _ := h.page(address)
		require.Equal(t, http.StatusOK, status, address)
		require.Equal(t, kind, header.Get("Content-Type"), address)
		require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"), address)
		policy := header.Get("Content-Security-Policy")
		for _, rule := range []string{
			"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'",
			"require-trusted-types-for 'script'", "trusted-types 'none'",
		} {
			require.Contains(t, policy, rule, address)
		}
		require.NotContains(t, policy, "unsafe", address)
	}
}

func TestPage_servesNothingElse(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	for _, address := range []string{"/assets/", "/assets/nothing.js", "/assets/../page.go", "/assets/%2e%2e/page.go", "/assets/page/index.html"} {
		status, _, body := h.page(address)
		require.Equal(t, http.StatusNotFound, status, address)
		require.Contains(t, body, "route_unknown", address)
	}
}

// What the page must not do: make HTML out of text, run text as code, or reach anything but the world.
var pageBans = map[string]string{
	"innerHTML": "makes HTML of text", "outerHTML": "makes HTML of text", "insertAdjacentHTML": "makes HTML of text",
	"document.write": "makes HTML of text", "DOMParser": "makes HTML of text", "createContextualFragment": "makes HTML of text",
	"setHTMLUnsafe": "makes HTML of text", "eval(": "runs text", "new Function": "runs text", "javascript:": "runs text",
	"import(": "loads what no reader sees", "sendBeacon": "reaches outside", "XMLHttpRequest": "goes past api.js",
}

func TestPage_isPlainFilesWithoutHTMLFromText(t *testing.T) {
	t.Parallel()
	outside := regexp.MustCompile(`https?://[a-z0-9-]+(?:\.[a-z0-9-]+)*|["'(]//[a-z0-9]`)
	for name, text := range pageSources(t) {
		for word, why := range pageBans {
			require.NotContains(t, text, word, "%s %s", name, why)
		}
		for _, found := range outside.FindAllString(text, -1) {
			require.Contains(t, []string{"http://www.w3.org"}, found, "%s names an address outside the page", name)
		}
		lines, most := strings.Count(text, "\n"), 300
		if path.Ext(name) == ".css" {
			most = 500
		}
		require.Less(t, lines, most, "%s is too long", name)
		if name != "api.js" {
			require.NotContains(t, text, "fetch(", "%s goes past api.js", name)
		}
	}
	index := pageSources(t)["index.html"]
	require.NotRegexp(t, `<script(?:\s[^>]*)?>[^<]`, index, "no inline script")
	require.NotRegexp(t, `<style|\sstyle=|\son[a-z]+=`, index, "no inline style and no inline listener")
}

func TestPage_modulesFindEachOther(t *testing.T) {
	t.Parallel()
	sources := pageSources(t)
	imports := regexp.MustCompile(`import \{([^}]+)\} from "\./([^"]+)";`)
	used := map[string]bool{"main.js": true}
	for name, text := range sources {
		require.Equal(t, strings.Count(text, "\nimport "), len(imports.FindAllString(text, -1)), "%s has an import of another form", name)
		for _, found := range imports.FindAllStringSubmatch(text, -1) {
			used[found[2]] = true
			for _, what := range strings.Split(found[1], ",") {
				what = strings.TrimSpace(what)
				require.Regexp(t, `export (?:async )?(?:function|class|const) `+what+`\b`, sources[found[2]], "%s imports %s", name, what)
			}
		}
	}
	for name := range sources {
		if path.Ext(name) == ".js" {
			require.True(t, used[name], "%s is imported by nothing", name)
		}
	}
}

// TestPage_knowsEveryComponentOfTheDocuments: a component that nobody draws would be an empty place on a phone.
func TestPage_knowsEveryComponentOfTheDocuments(t *testing.T) {
	t.Parallel()
	sources := pageSources(t)
	var drawing string
	for _, name := range []string{"screen", "text", "input", "choice", "calendar", "picker", "list"} {
		drawing += sources["flow_"+name+".js"]
	}
	kinds := []string{
		"RichText", "TextArea", "RadioButtonsGroup", "CheckboxGroup", "ChipsSelector", "DatePicker", "EmbeddedLink", "Image", "Switch", "Form",
		"CalendarPicker", "PhotoPicker", "DocumentPicker", "NavigationList", "ImageCarousel",
	}
	for _, name := range flowsjson.Names() {
		raw, err := flowsjson.Read(name)
		require.NoError(t, err)
		document, err := parseFlow(raw)
		require.NoError(t, err)
		for _, s := range document.Screens {
			s.components(bindings{}, func(c map[string]any) { kinds = append(kinds, text(c["type"])) })
		}
	}
	require.Contains(t, kinds, "Footer")
	for _, kind := range kinds {
		require.Regexp(t, `\b`+kind+`\b`, drawing, kind)
	}
	for _, kind := range []string{"text", "number", "email", "password", "passcode", "phone"} {
		require.Regexp(t, kind+`: \{ type:`, sources["flow_input.js"], kind)
	}
}
