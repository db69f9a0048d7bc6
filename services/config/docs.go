package config

import (
	"fmt"
	"strings"
)

const chainDoc = "Nodes of one chain, comma-separated, in order of preference; <NAME> is the chain's id in the registry " +
	"in capitals with _ for -."

// Markdown is docs/config.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString("# Configuration\n\n" +
		"Generated from `services/config`; `go test ./services/config -update` writes it again.\n\n" +
		"Everything comes from the environment. An empty variable counts as not set. Every secret may also be given as\n" +
		"`<NAME>_FILE`, the path of a file; one newline at its end is not part of it, and setting both is an error. All\n" +
		"problems are printed together, by name and never by value. A name that begins like ours and is not listed here is\n" +
		"refused. A key is 32 bytes as hex or base64, or any text of 32 characters or more (then its SHA-256 is used).\n" +
		"Periods are written like `5s`, `10m`, `24h`.\n")
	section := ""
	for _, f := range Fields() {
		if f.Section != section {
			section = f.Section
			fmt.Fprintf(&b, "\n## %s\n\n| name | default | |\n|---|---|---|\n", heading(section))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s%s |\n", f.Name, defaultCell(f), f.Doc, fileNote(f))
	}
	fmt.Fprintf(&b, "\n## Chains\n\n| name | default | |\n|---|---|---|\n| `CHAIN_<NAME>_RPC_URLS` | | %s Secret. |\n",
		strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(chainDoc))
	return b.String()
}

// Example is .env.example.
func Example() string {
	var b strings.Builder
	b.WriteString("# Generated from services/config; `go test ./services/config -update` writes it again.\n" +
		"# Lines that begin with # are optional and show the default.\n")
	section := ""
	for _, f := range Fields() {
		if f.Section != section {
			section = f.Section
			fmt.Fprintf(&b, "\n## %s\n", heading(section))
		}
		fmt.Fprintf(&b, "\n# %s\n", f.Doc)
		if f.Required {
			fmt.Fprintf(&b, "%s=\n", f.Name)
		} else {
			fmt.Fprintf(&b, "#%s=%s\n", f.Name, f.Default)
		}
	}
	fmt.Fprintf(&b, "\n## Chains\n\n# %s\n#CHAIN_<NAME>_RPC_URLS=\n", chainDoc)
	return b.String()
}

func defaultCell(f Field) string {
	switch {
	case f.Required:
		return "**required**"
	case f.Default == "":
		return ""
	default:
		return "`" + f.Default + "`"
	}
}

func fileNote(f Field) string {
	if f.Secret {
		return " Secret."
	}
	return ""
}

func heading(section string) string {
	switch section {
	case "App":
		return "Environment"
	case "HTTP":
		return "Listeners"
	case "Keys":
		return "Keys"
	case "Deposit":
		return "Deposits"
	default:
		return section
	}
}
