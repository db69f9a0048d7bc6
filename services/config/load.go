package config

import (
	"errors"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
)

// Load reads an environment (entries NAME=value, as os.Environ gives them). files reads a secret's file. sandbox holds
// the digests (see Digest) of the secrets that the sandbox gives out, which production refuses. The error is a Problems
// with everything that is wrong.
func Load(environ []string, files func(name string) ([]byte, error), sandbox []string) (*Config, error) {
	var problems Problems
	vars := variables(environ)
	problems.unknown(vars)
	problems.readFiles(vars, files)
	restoreNewlines(vars)

	cfg := &Config{}
	broken := problems.parse(cfg, vars)
	cfg.ChainURLs = chainURLs(vars)
	problems.shape(cfg, broken)
	problems.relations(cfg, broken)
	if cfg.App.Env != Sandbox { // anything that is not the sandbox is held to production's rules
		problems.production(cfg, sandbox)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return cfg, nil
}

// variables keeps what is not empty: an empty variable means "not set", for secrets too, which then are missing.
func variables(environ []string) map[string]string {
	vars := map[string]string{}
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		if ok && value != "" {
			vars[name] = value
		}
	}
	return vars
}

// readFiles moves the content of <NAME>_FILE into <NAME>.
func (p *Problems) readFiles(vars map[string]string, files func(string) ([]byte, error)) {
	for _, name := range secretNames(vars) {
		path, ok := vars[name+"_FILE"]
		if !ok {
			continue
		}
		if _, both := vars[name]; both {
			p.add(name, "and "+name+"_FILE are both set; set one")
			continue
		}
		content, err := files(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			p.add(name+"_FILE", "names a file that does not exist")
		case err != nil:
			p.add(name+"_FILE", "names a file that cannot be read")
		case trimEnd(string(content)) == "":
			p.add(name+"_FILE", "names an empty file")
		default:
			vars[name] = trimEnd(string(content))
			continue
		}
		vars[name] = unreadable
	}
}

// unreadable stands for the content of a file that could not be read, so that it is not reported as missing as well.
const unreadable = "\x00"

// secretNames lists every name that may be given as a file.
func secretNames(vars map[string]string) []string {
	var out []string
	for _, f := range Fields() {
		if f.Secret {
			out = append(out, f.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if m := chainName.FindStringSubmatch(name); m != nil && m[2] != "" {
			out = append(out, strings.TrimSuffix(name, "_FILE"))
		}
	}
	return out
}

// restoreNewlines lets a PEM key travel in one line, as env files and shells hold it.
func restoreNewlines(vars map[string]string) {
	for _, name := range []string{"FLOW_PRIVATE_KEY", "FLOW_PRIVATE_KEY_PREVIOUS"} {
		if v, ok := vars[name]; ok && !strings.Contains(v, "\n") {
			vars[name] = strings.ReplaceAll(v, `\n`, "\n")
		}
	}
}

// parse fills every section and returns the names that did not parse; these are not checked further.
func (p *Problems) parse(cfg *Config, vars map[string]string) map[string]bool {
	broken := map[string]bool{}
	names := map[string]string{} // section.field → variable
	for _, f := range fieldsOf(cfg) {
		names[f.Section+"."+f.goName] = f.Name
		if vars[f.Name] == unreadable {
			broken[f.Name] = true
		}
	}
	root := reflect.ValueOf(cfg).Elem()
	for i := range root.NumField() {
		section := root.Field(i)
		if section.Kind() != reflect.Struct {
			continue
		}
		err := env.ParseWithOptions(section.Addr().Interface(), env.Options{Environment: vars})
		var all env.AggregateError
		if err == nil || !errors.As(err, &all) {
			continue
		}
		for _, one := range all.Errors {
			p.parseError(one, root.Type().Field(i).Name, names, broken)
		}
	}
	return broken
}

// parseError turns an error of the parser, whose text may hold the value, into a sentence that does not.
func (p *Problems) parseError(err error, section string, names map[string]string, broken map[string]bool) {
	var missing env.VarIsNotSetError
	if errors.As(err, &missing) {
		p.add(missing.Key, "is missing")
		broken[missing.Key] = true
		return
	}
	var parse env.ParseError
	if !errors.As(err, &parse) {
		p.add(section, "cannot be read")
		return
	}
	name := names[section+"."+parse.Name]
	if broken[name] { // its file could not be read, and that is already said
		return
	}
	broken[name] = true
	var shape shapeError
	if errors.As(parse.Err, &shape) {
		p.add(name, shape.Error())
		return
	}
	p.add(name, "is not a "+parseKind(parse.Type))
}

func parseKind(t reflect.Type) string {
	if t.Kind() == reflect.Slice {
		return "list of periods such as 5s,1m"
	}
	return "period such as 30s or 10m"
}
