package config

import (
	"reflect"
	"strings"
	"time"
)

// Field is one variable of the environment, as the struct tags declare it.
type Field struct {
	Name     string
	Doc      string
	Default  string
	Required bool
	Secret   bool   // may also be given as <Name>_FILE
	Section  string // concern it belongs to
	goName   string
	value    reflect.Value
}

var (
	secretType = reflect.TypeFor[Secret]()
	keysType   = reflect.TypeFor[Keys]()
)

// Fields lists every variable in the order of the struct. CHAIN_<NAME>_RPC_URLS, a family of names, is not among them.
func Fields() []Field { return fieldsOf(&Config{}) }

// fieldsOf lists the variables with the values they have in cfg.
func fieldsOf(cfg *Config) []Field {
	var out []Field
	root := reflect.ValueOf(cfg).Elem()
	for i := range root.NumField() {
		section := root.Field(i)
		if section.Kind() != reflect.Struct {
			continue
		}
		for j := range section.NumField() {
			f := section.Type().Field(j)
			name, options, _ := strings.Cut(f.Tag.Get("env"), ",")
			out = append(out, Field{
				Name: name, Doc: f.Tag.Get("doc"), Default: f.Tag.Get("envDefault"),
				Required: strings.Contains(options, "required"),
				Secret:   f.Type == secretType || f.Type == keysType,
				Section:  root.Type().Field(i).Name, goName: f.Name, value: section.Field(j),
			})
		}
	}
	return out
}

// Shown is one variable as an operator may see it: a secret is "set" or "not set".
type Shown struct{ Name, Value string }

// Summary is the effective configuration without secrets, for the one line at start-up and for the command config.
func (c *Config) Summary() []Shown {
	var out []Shown
	for _, f := range fieldsOf(c) {
		out = append(out, Shown{f.Name, shown(f.value.Interface())})
	}
	for _, name := range c.ChainURLs.Names() {
		out = append(out, Shown{ChainVariable(name), "set"})
	}
	return out
}

// Attrs is the summary as attributes of a log line, in snake_case.
func (c *Config) Attrs() []any {
	var out []any
	for _, s := range c.Summary() {
		out = append(out, strings.ToLower(s.Name), s.Value)
	}
	return out
}

func shown(value any) string {
	switch v := value.(type) {
	case Secret:
		if v.IsSet() {
			return "set"
		}
		return "not set"
	case Keys:
		if len(v) > 0 {
			return "set, keys " + v.String()
		}
		return "not set"
	case time.Duration:
		return v.String()
	case []time.Duration:
		parts := make([]string, len(v))
		for i, d := range v {
			parts[i] = d.String()
		}
		return strings.Join(parts, ",")
	case []string:
		return strings.Join(v, ",")
	default:
		return reflect.ValueOf(value).String() // the string kinds are all that is left
	}
}
