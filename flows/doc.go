// Package flows is the data endpoint of WhatsApp Flows: it decrypts a client's request, finds the session of its token,
// lets one screen answer, and encrypts the answer. The client is not trusted with anything but what a person typed: what
// is sold, to whom and at what price lies in the session and the quote (S4, T1, P50).
package flows
