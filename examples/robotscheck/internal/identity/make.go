package identity

import (
	"crypto/ed25519"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/robotsmw/webbotauth"
)

// A maker makes a key directory that a server can serve without the private
// keys.
type maker struct {
	dir      string
	keys     []string // the files with the private keys
	validity time.Duration
}

// make() writes the key directory of a host. In the report, it notes the keys,
// the files, and when the directory should be made again.
func (m *maker) make(r *report, host string, now time.Time) error {
	d := webbotauth.Directory{Authority: host, Validity: m.validity}
	for _, file := range m.keys {
		private, err := webbotauth.ReadKey(file)
		if err != nil {
			return err
		}
		d.Keys = append(d.Keys, private)
		r.Keys = append(r.Keys, key{webbotauth.KeyID(private.Public().(ed25519.PublicKey)), now.Add(m.validity).UTC().Truncate(time.Second)})
	}
	header, body, err := d.Response(now)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(m.dir)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, path.Base(webbotauth.DirectoryPath))
	config, err := nginx(name, header)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, file := range []struct {
		name string
		text string
	}{
		{name, string(body)},
		{name + ".headers", headerLines(header)},
		{name + ".nginx", config},
	} {
		if err := replace(file.name, file.text); err != nil {
			return err
		}
		r.Files = append(r.Files, file.name)
	}
	r.Renew = now.Add(m.validity / 2).UTC().Truncate(time.Second)
	return nil
}

// replace() writes a file atomically, because a server may read it at any time.
func replace(name, text string) error {
	next := name + ".new"
	if err := os.WriteFile(next, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(next, name)
}

func headerLines(header http.Header) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(header)) {
		fmt.Fprintf(&b, "%s: %s\n", name, header.Get(name))
	}
	return b.String()
}

// nginx() returns configuration for a server block of nginx. With this
// configuration, nginx serves the file with these header fields. If the name of
// the file has a "$", nginx() returns an error: nginx takes a "$" for the
// beginning of a variable, and has no escape for it. The header fields never
// have a "$".
func nginx(file string, header http.Header) (string, error) {
	if strings.Contains(file, "$") {
		return "", fmt.Errorf("-out %s: nginx would read a variable after the \"$\": name a directory without one", filepath.Dir(file))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "location = %s {\n\talias %s;\n\ttypes {}\n\tdefault_type %s;\n", webbotauth.DirectoryPath, quote(file), header.Get("Content-Type"))
	b.WriteString("\tgzip off; # Content-Digest is of the file as it is\n\tmax_ranges 0;\n\tetag off;\n\tif_modified_since off;\n")
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if name != "Content-Type" {
			fmt.Fprintf(&b, "\tadd_header %s %s;\n", name, quote(header.Get(name)))
		}
	}
	b.WriteString("}\n")
	return b.String(), nil
}

func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
