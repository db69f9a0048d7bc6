// Package slip draws the two pictures that people are sent: the slip of a paid sale, and the card with the QR code of a
// deposit address. Both are PNG, drawn by hand on an embedded font, so the same facts give the same picture on every
// machine. Nothing that a person or a bank wrote can break the drawing: texts are cleaned, shrunk and cut to their place.
package slip
