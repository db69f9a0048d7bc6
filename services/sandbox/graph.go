package sandbox

import (
	"crypto/subtle"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
)

// maxGraphBody bounds a request to the Graph API: a picture of 5 MB and its frame.
const maxGraphBody = 20 << 20

var versionPattern = regexp.MustCompile(`^v[0-9]+\.[0-9]+$`)

// graphCall is one request to the Graph API below its version.
type graphCall struct {
	method string
	node   string // the object: phone number, WABA, Flow or media id
	edge   string // what of it, "" for the node itself
	body   []byte
	c      *gin.Context
}

// serveGraph serves /graph/<version>/<node>/<edge>; the version may be left out.
func (w *World) serveGraph(c *gin.Context) {
	if !sameBearer(c.GetHeader("Authorization"), w.secrets.AccessToken) {
		write(c, graphRefusal(190))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxGraphBody))
	if err != nil {
		write(c, graphError(100, "The request body cannot be read."))
		return
	}
	parts := strings.Split(strings.Trim(c.Param("path"), "/"), "/")
	if versionPattern.MatchString(parts[0]) {
		parts = parts[1:]
	}
	if len(parts) == 0 || len(parts) > 2 {
		write(c, graphError(2500, "Unknown path components: "+c.Param("path")))
		return
	}
	call := graphCall{method: c.Request.Method, node: parts[0], body: body, c: c}
	if len(parts) == 2 {
		call.edge = parts[1]
	}
	w.routeGraph(call)
}

// routeGraph is every edge of the Graph API that the world knows.
func (w *World) routeGraph(call graphCall) {
	ours := call.node == PhoneNumberID
	waba := call.node == BusinessAccountID
	switch {
	case call.is("POST", "messages") && ours:
		w.postMessage(call)
	case call.is("POST", "media") && ours:
		w.postMedia(call)
	case call.is("GET", "whatsapp_business_encryption") && ours:
		write(call.c, w.getFlowKey())
	case call.is("POST", "whatsapp_business_encryption") && ours:
		write(call.c, w.postFlowKey(call))
	case call.is("POST", "subscribed_apps") && waba:
		write(call.c, w.subscribe(call))
	case call.is("GET", "subscribed_apps") && waba:
		write(call.c, reply{status: http.StatusOK, body: gin.H{"data": []any{
			gin.H{"whatsapp_business_api_data": gin.H{"id": "1", "name": "sandbox"}},
		}}})
	case call.is("POST", "flows") && waba:
		write(call.c, w.createFlow(call))
	case call.is("GET", "flows") && waba:
		write(call.c, w.listFlows())
	case call.edge == "" && w.media.has(call.node):
		w.serveMediaNode(call)
	case call.node == "media" && call.method == http.MethodGet:
		w.downloadMedia(call)
	case w.flows.has(call.node):
		write(call.c, w.flowNode(call))
	case call.edge == "" && ours && call.method == http.MethodGet:
		write(call.c, reply{status: http.StatusOK, body: gin.H{
			"id": PhoneNumberID, "display_phone_number": DisplayPhoneNumber, "verified_name": "Sandbox",
		}})
	default:
		write(call.c, unknownNode(call))
	}
}

func (g graphCall) is(method, edge string) bool { return g.method == method && g.edge == edge }

func unknownNode(call graphCall) reply {
	return graphError(33, fmt.Sprintf("Unsupported %s request. Object with ID '%s' does not exist, cannot be loaded due to missing "+
		"permissions, or does not support this operation.", strings.ToLower(call.method), call.node))
}

func sameBearer(header, token string) bool {
	given, found := strings.CutPrefix(header, "Bearer ")
	return found && subtle.ConstantTimeCompare([]byte(given), []byte(token)) == 1
}

// graphTitle says how Meta words an error code and with which HTTP status it comes (Meta: error codes).
type graphTitle struct {
	status int
	title  string
}

func graphTitleOf(code int) graphTitle {
	known, found := map[int]graphTitle{
		0:      {401, "AuthException"},
		1:      {400, "An unknown error occurred"},
		2:      {503, "Service temporarily unavailable"},
		3:      {500, "Application does not have the capability to make this API call"},
		4:      {400, "Application request limit reached"},
		10:     {403, "Application does not have permission for this action"},
		33:     {400, "Parameter value is not valid"},
		100:    {400, "Invalid parameter"},
		190:    {401, "Invalid OAuth access token - Cannot parse access token"},
		368:    {403, "Temporarily blocked for policies violations"},
		80007:  {400, "Rate limit issues"},
		130429: {400, "Rate limit hit"},
		130472: {400, "User's number is part of an experiment"},
		130497: {403, "Business account is restricted from messaging users in this country"},
		131000: {500, "Something went wrong"},
		131005: {403, "Access denied"},
		131008: {400, "Required parameter is missing"},
		131009: {400, "Parameter value is not valid"},
		131016: {500, "Service unavailable"},
		131021: {400, "Recipient cannot be sender"},
		131026: {400, "Message undeliverable"},
		131030: {400, "Recipient phone number not in allowed list"},
		131031: {403, "Business account has been locked"},
		131037: {400, "WhatsApp provided number needs display name approval before message can be sent"},
		131042: {400, "Business eligibility payment issue"},
		131047: {400, "Re-engagement message"},
		131048: {400, "Spam rate limit hit"},
		131049: {400, "Meta chose not to deliver"},
		131050: {400, "User has stopped receiving marketing messages"},
		131051: {400, "Unsupported message type"},
		131052: {400, "Media download error"},
		131053: {400, "Media upload error"},
		131056: {400, "(Business Account, Consumer Account) pair rate limit hit"},
		131057: {500, "Account in maintenance mode"},
		131062: {400, "Recipient cannot be a business-scoped user id"},
		132000: {400, "Template param count mismatch"},
		132001: {404, "Template does not exist"},
		132015: {400, "Template is paused"},
		132068: {400, "Flow is blocked"},
		132069: {400, "Flow is throttled"},
		133004: {503, "Server temporarily unavailable"},
		133010: {400, "Phone number not registered"},
		137000: {400, "Recipient identity key hash does not match"},
		139000: {400, "Blocked by integrity"},
		139002: {400, "Publishing failed"},
	}[code]
	switch {
	case found:
		return known
	case code >= 200 && code <= 299:
		return graphTitle{403, "Permission denied"}
	}
	return graphTitle{400, "Error"}
}

// graphError is Meta's error body with details.
func graphError(code int, details string) reply {
	t := graphTitleOf(code)
	message := "(#" + strconv.Itoa(code) + ") " + t.title
	if code == 100 || code == 33 || code == 2500 {
		message = "(#" + strconv.Itoa(code) + ") " + details
	}
	kind := "OAuthException"
	if code == 33 {
		kind, code = "GraphMethodException", 100
	}
	body := gin.H{
		"message": message, "type": kind, "code": code, "fbtrace_id": "Asandbox",
		"error_data": gin.H{"messaging_product": "whatsapp", "details": details},
	}
	if t.status >= 500 {
		body["is_transient"] = true
	}
	return reply{status: t.status, body: gin.H{"error": body}}
}

// graphRefusal is Meta's error with its own wording.
func graphRefusal(code int) reply { return graphError(code, graphTitleOf(code).title+".") }

// metaVoice is how Meta says what goes wrong.
func metaVoice() voice {
	return voice{
		broken:  graphError(131000, "Something went wrong."),
		limited: graphError(130429, "Cloud API message throughput has been reached."),
		refuse: func(code string) reply {
			n, err := strconv.Atoi(code)
			if err != nil {
				n = 131000
			}
			return graphRefusal(n)
		},
	}
}
