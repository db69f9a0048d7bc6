package webhooks

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"offrampbot/services/admin"
)

// exportRows is where an export ends; whoever needs more narrows the list.
const exportRows = 100_000

// exportTime is less than the server's write time-out.
const exportTime = 80 * time.Second

// export writes a whole list as CSV, page by page. The columns are those of the first page, in the order in which its
// items name them; nested names are joined with a dot.
func (e *Edge) export(c *gin.Context, which admin.List, q admin.Query) error {
	// An export takes longer than an answer may; it ends when the client goes, because then nothing can be written.
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(c.Request.Context()), exportTime, errHandlerTimeout)
	defer cancel()
	q.Limit = maxLimit
	var columns []string
	w := csv.NewWriter(c.Writer)
	for rows := 0; rows < exportRows; {
		page, err := e.deps.Reads.List(ctx, which, q)
		if err != nil {
			return err
		}
		records, names, err := flattenAll(page.Items)
		if err != nil {
			return err
		}
		if columns == nil {
			columns = names
			c.Header("Content-Type", "text/csv; charset=utf-8")
			c.Header("Content-Disposition", `attachment; filename="`+string(which)+`.csv"`)
			c.Status(http.StatusOK)
			if len(columns) > 0 {
				_ = w.Write(columns) // kept until Flush, which Error reports
			}
		}
		for _, record := range records {
			_ = w.Write(cells(record, columns))
		}
		rows += len(records)
		if w.Flush(); w.Error() != nil {
			return fmt.Errorf("write CSV: %w", w.Error())
		}
		if page.Next == "" || len(records) == 0 {
			break
		}
		q.Cursor = page.Next
	}
	c.Writer.WriteHeaderNow()
	return nil
}

func cells(record map[string]string, columns []string) []string {
	out := make([]string, len(columns))
	for i, name := range columns {
		out[i] = safeCell(record[name])
	}
	return out
}

// number is text that a sheet reads as the number it is.
var number = regexp.MustCompile(`^[-+]?[0-9]+([.,][0-9]+)?$`)

// safeCell keeps a sheet from running a cell as a formula (B97, E6): a text that begins like one, also behind blanks or
// in full-width form, gets an apostrophe. Amounts stay numbers.
func safeCell(text string) string {
	if text == "" || number.MatchString(text) {
		return text
	}
	rest := strings.TrimLeftFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || unicode.IsControl(r)
	})
	first, _ := utf8.DecodeRuneInString(rest)
	if strings.ContainsAny(text[:1], "\t\r\n") || rest != "" && strings.ContainsRune("=+-@＝＋－＠", first) {
		return "'" + text
	}
	return text
}

// flattenAll turns items into records and lists their columns in order of appearance.
func flattenAll(items []any) (records []map[string]string, columns []string, err error) {
	seen := map[string]bool{}
	for _, item := range items {
		body, err := json.Marshal(item)
		if err != nil {
			return nil, nil, fmt.Errorf("encode item: %w", err)
		}
		record := map[string]string{}
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber()
		if err := flatten(d, "", func(name, value string) {
			record[name] = value
			if !seen[name] {
				seen[name] = true
				columns = append(columns, name)
			}
		}); err != nil {
			return nil, nil, fmt.Errorf("flatten item: %w", err)
		}
		records = append(records, record)
	}
	return records, columns, nil
}

// flatten reads one JSON value in document order. Lists stay JSON in one cell.
func flatten(d *json.Decoder, name string, put func(name, value string)) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if token != json.Delim('{') {
		put(strings.TrimPrefix(name, "."), scalar(token))
		return nil
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return err
		}
		child := fmt.Sprintf("%s.%v", name, key)
		if raw[0] == '[' {
			put(strings.TrimPrefix(child, "."), string(raw))
			continue
		}
		inner := json.NewDecoder(bytes.NewReader(raw))
		inner.UseNumber()
		if err := flatten(inner, child, put); err != nil {
			return err
		}
	}
	_, err = d.Token() // the closing brace
	return err
}

func scalar(token json.Token) string {
	if token == nil {
		return ""
	}
	return fmt.Sprint(token)
}
