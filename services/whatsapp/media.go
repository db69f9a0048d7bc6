package whatsapp

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
)

// ErrMedia: a file may not be fetched, is too large, or is not what its hash says.
var ErrMedia = errors.New("media refused")

// UploadMedia stores a file at WhatsApp, which keeps it for 30 days, and returns its id. Uploading again gives another
// id and has no other effect, so it may be repeated.
func (c *Client) UploadMedia(ctx context.Context, name, mime string, content []byte) (id string, err error) {
	if len(content) == 0 || len(content) > maxImageBytes {
		return "", fmt.Errorf("upload media: %w: size %d", ErrMedia, len(content))
	}
	body, contentType, err := multipartBody(
		[][2]string{{"messaging_product", "whatsapp"}, {"type", mime}}, name, mime, content)
	if err != nil {
		return "", err
	}
	o, err := c.callJSON(ctx, request{
		method: http.MethodPost, path: "/" + c.cfg.PhoneNumberID + "/media", body: body, contentType: contentType,
	}, nil)
	if err != nil {
		return "", err
	}
	if id = o.text("id"); id == "" {
		return "", &Error{Class: ClassMedia, HTTP: http.StatusOK, Err: errors.New("answer has no media id")}
	}
	return id, nil
}

// multipartBody builds a form of plain fields and one file.
func multipartBody(fields [][2]string, name, mime string, content []byte) (body []byte, contentType string, err error) {
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	for _, field := range fields {
		if err := form.WriteField(field[0], field[1]); err != nil {
			return nil, "", fmt.Errorf("build form: %w", err)
		}
	}
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", `form-data; name="file"; filename="`+strings.Map(safeName, name)+`"`)
	header.Set("Content-Type", mime)
	part, err := form.CreatePart(header)
	if err != nil {
		return nil, "", fmt.Errorf("build form: %w", err)
	}
	if _, err := part.Write(content); err != nil {
		return nil, "", fmt.Errorf("build form: %w", err)
	}
	if err := form.Close(); err != nil {
		return nil, "", fmt.Errorf("build form: %w", err)
	}
	return b.Bytes(), form.FormDataContentType(), nil
}

func safeName(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
		return r
	}
	return '_'
}

// Download is a fetched file.
type Download struct {
	MIME    string
	Content []byte
}

// DownloadMedia fetches a file that a person sent, of at most limit bytes, by its id: the URL in the webhook has expired
// by the time anybody reads it (P43). The bearer token goes only to the Graph and to the hosts of the configuration, and
// a file whose hash is not the stated one is refused. Errors: *Error for the API, ErrMedia for the file.
func (c *Client) DownloadMedia(ctx context.Context, id string, limit int64) (Download, error) {
	if id == "" || strings.ContainsFunc(id, func(r rune) bool { return safeName(r) == '_' && r != '_' }) {
		return Download{}, fmt.Errorf("download media: %w: id", ErrMedia)
	}
	o, err := c.callJSON(ctx, request{
		method: http.MethodGet, path: "/" + id, query: url.Values{"phone_number_id": {c.cfg.PhoneNumberID}},
	}, nil)
	if err != nil {
		return Download{}, err
	}
	if size := o.number("file_size"); size > limit {
		return Download{}, fmt.Errorf("download media: %w: %d bytes", ErrMedia, size)
	}
	target, err := c.mediaURL(o.text("url"))
	if err != nil {
		return Download{}, err
	}
	content, err := c.fetch(ctx, target, limit)
	if err != nil {
		return Download{}, err
	}
	if !sameHash(o.text("sha256"), content) {
		return Download{}, fmt.Errorf("download media: %w: hash differs", ErrMedia)
	}
	return Download{MIME: o.text("mime_type"), Content: content}, nil
}

// mediaURL checks that a URL leads to a host that may see our token: the Graph itself, or one of the list over https on
// its usual port.
func (c *Client) mediaURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.Host == "" {
		return nil, fmt.Errorf("download media: %w: not a URL", ErrMedia)
	}
	if u.Scheme == c.graph.Scheme && strings.EqualFold(u.Host, c.graph.Host) {
		return u, nil
	}
	known := slices.ContainsFunc(c.cfg.MediaHosts, func(h string) bool { return strings.EqualFold(h, u.Hostname()) })
	if u.Scheme != "https" || (u.Port() != "" && u.Port() != "443") || !known {
		return nil, fmt.Errorf("download media: %w: host is not on the list", ErrMedia)
	}
	return u, nil
}

func (c *Client) fetch(ctx context.Context, target *url.URL, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Timeout, errors.New("media time-out"))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("download media: %w: build request", ErrMedia)
	}
	r.Header.Set("Authorization", "Bearer "+c.cfg.Token)
	response, err := c.http.Do(r)
	if err != nil {
		return nil, &Error{Class: ClassTransient, Err: stripURL(err)}
	}
	defer closeBody(response)
	if response.StatusCode != http.StatusOK {
		return nil, &Error{Class: classOfStatus(response.StatusCode), HTTP: response.StatusCode}
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		return nil, &Error{Class: ClassTransient, HTTP: response.StatusCode, Err: err}
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("download media: %w: more than %d bytes", ErrMedia, limit)
	}
	return content, nil
}

// sameHash compares a SHA-256 given as hex (the API) or base64 (webhooks) with the content's. No hash is no match.
func sameHash(given string, content []byte) bool {
	want, err := hex.DecodeString(given)
	if err != nil {
		want, err = base64.StdEncoding.DecodeString(given)
	}
	if err != nil || len(want) != sha256.Size {
		return false
	}
	sum := sha256.Sum256(content)
	return hmac.Equal(want, sum[:])
}
