// Package flowsjson holds the WhatsApp Flow documents that are published, and a checker that knows Meta's rules for them,
// so that a document that Meta would refuse, or a client could not show, never leaves a developer's machine. What the
// server has to fill on each screen is in docs/flows.md and, for tests, in Screens.
package flowsjson

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

// FS holds the documents as they are published.
//
//go:embed *.json
var FS embed.FS

// Names returns the names of the documents, sorted: the file names without their ending.
func Names() []string {
	entries, err := FS.ReadDir(".")
	if err != nil { // the folder is compiled in
		panic(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), ".json"))
	}
	slices.Sort(names)
	return names
}

// Read returns a document by its name, with or without the ending.
func Read(name string) ([]byte, error) {
	doc, err := FS.ReadFile(strings.TrimSuffix(name, ".json") + ".json")
	if err != nil {
		return nil, fmt.Errorf("read flow document %q: %w", name, err)
	}
	return doc, nil
}
