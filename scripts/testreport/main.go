// Command testreport reads the JSON stream of `go test -json` on standard input, prints what failed with its output, and
// ends with the lines that say what really ran: packages, tests, skips, and how many tests used each service. A check
// that did not run must not look like one that passed.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// event is one line of test2json.
type event struct {
	Action     string
	Package    string
	ImportPath string
	Test       string
	Output     string
}

// engines are what a test can run on, by the name of its sub-test or the end of its package.
var engines = []string{"mongo", "bolt", "redis", "miniredis", "anvil", "chromium"}

// report collects the stream.
type report struct {
	packages map[string]string   // package → pass, fail or skip
	tests    map[string]string   // package + test → pass, fail or skip
	output   map[string][]string // the same key → its lines; the package itself has an empty test
	parents  map[string]bool     // the same key: it has sub-tests
	builds   []string            // output of builds that failed
	races    []string            // reports of the race detector, also those printed during a test that passed
	racing   map[string]bool     // the same key: its next lines belong to such a report
}

func main() {
	r, err := read(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(2)
	}
	if !r.print(os.Stdout, os.Getenv("CI") == "true") {
		os.Exit(1)
	}
}

// read consumes the stream. Lines that are not JSON are build output.
func read(in io.Reader) (*report, error) {
	r := &report{
		packages: map[string]string{}, tests: map[string]string{}, output: map[string][]string{}, parents: map[string]bool{},
		racing: map[string]bool{},
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil {
				r.builds = append(r.builds, line)
			} else {
				r.take(e)
			}
		}
		if err == io.EOF {
			return r, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read test output: %w", err)
		}
	}
}

func (r *report) take(e event) {
	key := e.Package + "\x00" + e.Test
	switch e.Action {
	case "output":
		r.output[key] = append(r.output[key], e.Output)
		r.keepRace(key, e.Output)
	case "build-output":
		r.builds = append(r.builds, e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.packages[e.Package] = e.Action
			if e.Action == "pass" {
				delete(r.output, key)
			}
			return
		}
		r.tests[key] = e.Action
		if i := strings.LastIndexByte(e.Test, '/'); i > 0 {
			r.parents[e.Package+"\x00"+e.Test[:i]] = true
		}
		if e.Action == "pass" {
			delete(r.output, key)
		}
	}
}

// keepRace keeps a report of the race detector. It appears among the lines of whatever test runs at that moment, which may
// pass, while another one is failed for it.
func (r *report) keepRace(key, line string) {
	if strings.Contains(line, "WARNING: DATA RACE") {
		r.racing[key] = true
	}
	if r.racing[key] {
		r.races = append(r.races, line)
		r.racing[key] = !strings.HasPrefix(line, "==================")
	}
}

// print writes failures, skips and the closing lines, and says whether all is well. With strict a skip is a failure:
// a missing service fails, never skips.
func (r *report) print(w io.Writer, strict bool) bool {
	for _, line := range r.builds {
		_, _ = io.WriteString(w, line)
	}
	for _, line := range r.races {
		_, _ = io.WriteString(w, line)
	}
	failed := r.failures(w)
	skipped := r.skips(w)
	count := map[string]int{}
	for _, action := range r.tests {
		count[action]++
	}
	packages := map[string]int{}
	for _, action := range r.packages {
		packages[action]++
	}
	fmt.Fprintf(w, "packages: %d good, %d bad, %d without tests\n", packages["pass"], packages["fail"], packages["skip"])
	for _, engine := range engines {
		if n := r.on(engine); n > 0 {
			fmt.Fprintf(w, "tests on %s: %d\n", engine, n)
		}
	}
	// The last line is in the form that test runners close with, so that tools can read it.
	fmt.Fprintf(w, "tests: %d passed, %d failed, %d skipped\n", count["pass"], max(count["fail"], packages["fail"]), count["skip"])
	ok := !failed && len(r.packages) > 0 && packages["fail"] == 0 && (!strict || !skipped)
	return ok
}

// failures prints each failed test, deepest first, and packages that failed without one.
func (r *report) failures(w io.Writer) bool {
	failed := false
	for _, key := range slices.Sorted(maps.Keys(r.tests)) {
		if r.tests[key] != "fail" {
			continue
		}
		failed = true
		pkg, test, _ := strings.Cut(key, "\x00")
		fmt.Fprintf(w, "--- failed: %s %s\n", pkg, test)
		r.write(w, key)
	}
	for _, pkg := range slices.Sorted(maps.Keys(r.packages)) {
		if r.packages[pkg] == "fail" {
			failed = true
			fmt.Fprintf(w, "--- failed: package %s\n", pkg)
			r.write(w, pkg+"\x00")
			r.unfinished(w, pkg)
		}
	}
	return failed
}

// unfinished prints tests that began and never ended: a crash or a time-out of their package.
func (r *report) unfinished(w io.Writer, pkg string) {
	for _, key := range slices.Sorted(maps.Keys(r.output)) {
		if test, ok := strings.CutPrefix(key, pkg+"\x00"); ok && test != "" && r.tests[key] == "" {
			fmt.Fprintf(w, "--- did not finish: %s %s\n", pkg, test)
			r.write(w, key)
		}
	}
}

func (r *report) write(w io.Writer, key string) {
	for _, line := range r.output[key] {
		_, _ = io.WriteString(w, "    "+line)
	}
}

func (r *report) skips(w io.Writer) bool {
	skipped := false
	for _, key := range slices.Sorted(maps.Keys(r.tests)) {
		if r.tests[key] == "skip" {
			skipped = true
			pkg, test, _ := strings.Cut(key, "\x00")
			fmt.Fprintf(w, "--- skipped: %s %s\n", pkg, test)
			r.write(w, key)
		}
	}
	return skipped
}

// on counts the passed tests without sub-tests that ran on a service.
func (r *report) on(engine string) int {
	n := 0
	for key, action := range r.tests {
		pkg, test, _ := strings.Cut(key, "\x00")
		if action != "pass" || r.parents[key] {
			continue
		}
		if strings.HasSuffix(pkg, "/"+engine) || slices.Contains(strings.Split(test, "/"), engine) {
			n++
		}
	}
	return n
}
