package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
)

// mediaFile is one uploaded file.
type mediaFile struct {
	id       string
	mimeType string
	name     string
	sha256   string
	body     []byte
}

// mediaShelf keeps what was uploaded.
type mediaShelf struct {
	mu    sync.Mutex
	files map[string]mediaFile
}

func (s *mediaShelf) has(id string) bool {
	_, found := s.get(id)
	return found
}

func (s *mediaShelf) get(id string) (mediaFile, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, found := s.files[id]
	return f, found
}

func (s *mediaShelf) put(f mediaFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[f.id] = f
}

func (s *mediaShelf) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, id)
}

// mediaLimit is the largest size of a type in bytes, 0 for a type that is not taken (Meta: media).
func mediaLimit(mimeType string) int {
	switch {
	case mimeType == "image/jpeg", mimeType == "image/png":
		return 5 << 20
	case strings.HasPrefix(mimeType, "audio/"), strings.HasPrefix(mimeType, "video/"):
		return 16 << 20
	case mimeType == "application/pdf", mimeType == "text/plain":
		return 16 << 20
	}
	return 0
}

// postMedia takes a multipart upload: messaging_product, type, file.
func (w *World) postMedia(call graphCall) {
	p := w.faults.take(targetMeta, "media")
	w.answer(call.c, p, metaVoice(), func() reply {
		form, err := readForm(call.c.GetHeader("Content-Type"), call.body)
		if err != nil || form.values["messaging_product"] != "whatsapp" {
			return graphError(100, "The parameter messaging_product is required.")
		}
		if form.file == nil {
			return graphError(100, "The parameter file is required.")
		}
		mimeType := orString(form.values["type"], form.fileType)
		limit := mediaLimit(mimeType)
		if limit == 0 || len(form.file) > limit || len(form.file) == 0 {
			return graphError(131053, "Unable to upload the media used in the message: type or size is not supported.")
		}
		sum := sha256.Sum256(form.file)
		f := mediaFile{
			id: w.mint.hex("media", 15), mimeType: mimeType, name: form.fileName, sha256: hex.EncodeToString(sum[:]), body: form.file,
		}
		w.media.put(f)
		return reply{status: http.StatusOK, body: gin.H{"id": f.id}}
	})
}

// serveMediaNode says where a file is, or deletes it.
func (w *World) serveMediaNode(call graphCall) {
	f, _ := w.media.get(call.node)
	switch call.method {
	case http.MethodDelete:
		w.media.remove(call.node)
		write(call.c, reply{status: http.StatusOK, body: gin.H{"success": true}})
	case http.MethodGet:
		write(call.c, reply{status: http.StatusOK, body: gin.H{
			"messaging_product": "whatsapp", "id": f.id, "mime_type": f.mimeType, "sha256": f.sha256, "file_size": len(f.body),
			"url": w.cfg.BaseURL + "/graph/media/" + f.id,
		}})
	default:
		write(call.c, unknownNode(call))
	}
}

// downloadMedia serves the bytes of a file: /graph/media/<id>, with the token as everywhere.
func (w *World) downloadMedia(call graphCall) {
	f, found := w.media.get(call.edge)
	if !found {
		write(call.c, unknownNode(call))
		return
	}
	call.c.Data(http.StatusOK, f.mimeType, f.body)
}

func (w *World) mediaBubble(kind string, raw json.RawMessage) (chatMessage, *refusal) {
	var m struct {
		ID       string `json:"id"`
		Link     string `json:"link"`
		Caption  string `json:"caption"`
		Filename string `json:"filename"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &m) != nil || (m.ID == "") == (m.Link == "") {
		return chatMessage{}, refuse(131008, "%s: exactly one of id and link is required.", kind)
	}
	if refused := atMost("caption", m.Caption, 1024); refused != nil {
		return chatMessage{}, refused
	}
	bubble := chatMessage{Type: kind, Text: m.Caption, Footer: m.Filename}
	if m.Link != "" {
		if !isHTTP(m.Link) {
			return chatMessage{}, refuse(131009, "%s['link'] is not an http address.", kind)
		}
		bubble.Media = &mediaRef{URL: m.Link}
		return bubble, nil
	}
	f, found := w.media.get(m.ID)
	if !found {
		return chatMessage{}, refuse(100, "%s['id'] %q is not an uploaded media id.", kind, m.ID)
	}
	if kind == "image" && !strings.HasPrefix(f.mimeType, "image/") {
		return chatMessage{}, refuse(131053, "The media %q is not an image.", m.ID)
	}
	bubble.Media = &mediaRef{ID: f.id, URL: "/world/media/" + f.id, MimeType: f.mimeType}
	return bubble, nil
}

// form is a multipart or URL-encoded form, or a JSON object of strings.
type form struct {
	values   map[string]string
	file     []byte
	fileName string
	fileType string
}

// readForm reads the three encodings in which Graph takes parameters.
func readForm(contentType string, body []byte) (form, error) {
	out := form{values: make(map[string]string)}
	kind, params, err := mime.ParseMediaType(contentType)
	switch {
	case err != nil || kind == "application/json":
		return out, readJSONForm(body, out.values)
	case kind != "multipart/form-data":
		return out, readQueryForm(string(body), out.values)
	}
	reader := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for {
		part, err := reader.NextPart()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return form{}, err
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return form{}, err
		}
		if part.FileName() == "" {
			out.values[part.FormName()] = string(content)
			continue
		}
		out.file, out.fileName, out.fileType = content, part.FileName(), part.Header.Get("Content-Type")
	}
}
