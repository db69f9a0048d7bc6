package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/whatsapp"
)

// documented reads the templates of docs/templates.md: the variables that the page names, and the body that Meta approves.
func documented(t *testing.T) (forms map[string]whatsapp.TemplateForm, bodies map[string]string) {
	t.Helper()
	forms, bodies = map[string]whatsapp.TemplateForm{}, map[string]string{}
	for _, line := range strings.Split(document(t, "templates.md"), "\n") {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		require.Len(t, cells, 4, line)
		name := strings.Trim(cells[0], "`")
		require.NotContains(t, forms, name, "stands there twice")
		forms[name] = whatsapp.TemplateForm{Args: strings.Split(cells[1], ", ")}
		bodies[name] = strings.Trim(cells[2], "`")
		require.Len(t, strings.Split(cells[3], " · "), len(forms[name].Args), "%s: one sample value per variable", name)
	}
	return forms, bodies
}

func TestTemplates_areDocumentedWithTheirArguments(t *testing.T) {
	t.Parallel()
	forms, _ := documented(t)
	require.Equal(t, templates(), forms)
}

func TestTemplates_haveABodyThatMetaCanApprove(t *testing.T) {
	t.Parallel()
	forms, bodies := documented(t)
	require.NotEmpty(t, forms)
	variable := regexp.MustCompile(`\{\{(\d+)\}\}`)
	for name, form := range forms {
		body := bodies[name]
		found := variable.FindAllStringSubmatch(body, -1)
		require.Len(t, found, len(form.Args), name)
		for i, m := range found {
			require.Equal(t, strconv.Itoa(i+1), m[1], "%s: variables are numbered in order", name)
		}
		require.False(t, strings.HasPrefix(body, "{{") || strings.HasSuffix(strings.TrimRight(body, ".!"), "}}"),
			"%s begins or ends with a variable", name)
		require.LessOrEqual(t, len([]rune(body)), 1024, name)
	}
}
