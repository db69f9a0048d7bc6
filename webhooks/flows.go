package webhooks

import "github.com/gin-gonic/gin"

// statusFlowSignature is what a Flow client expects for a bad signature.
const statusFlowSignature = 432

// answerFlow hands one encrypted request to the Flow endpoint. Its statuses (421, 427) are Meta's, and a Flow client
// reads nothing but them and the encrypted body.
func (e *Edge) answerFlow(c *gin.Context) error {
	status, answer := e.deps.Flows.Answer(c.Request.Context(), rawBody(c))
	c.Data(status, "text/plain; charset=utf-8", answer)
	return nil
}
