package audit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// The formats of logs, for [Auditor.Format].
const (
	// FormatCombined is the combined format of nginx and Apache, also in their
	// forms vhost_combined (Apache) and main (nginx).
	FormatCombined = "combined"
	// FormatCaddy is the JSON of Caddy.
	FormatCaddy = "caddy"
	// FormatNginx is a JSON log_format of nginx. Its members have the names of
	// nginx's variables, or names that are usual in such logs.
	FormatNginx = "nginx"
	// FormatTraefik is the JSON of Traefik.
	FormatTraefik = "traefik"
	// FormatW3C is the W3C extended log file format of IIS and CloudFront.
	FormatW3C = "w3c"
	// FormatALB is the format of AWS Application and Classic Load Balancers.
	FormatALB = "alb"
	// FormatLogpush is Cloudflare Logpush's data set http_requests, as JSON.
	FormatLogpush = "logpush"
)

// Formats returns the names of the formats of logs that [Auditor.Read]
// supports.
func Formats() []string {
	return []string{FormatCombined, FormatCaddy, FormatNginx, FormatTraefik, FormatW3C, FormatALB, FormatLogpush}
}

// A FormatError is returned by Read if no line of a log is in a known format.
type FormatError struct {
	Input  string // the name of the log
	Format string // Auditor.Format
	Line   string // the first line that is not empty, or its beginning
}

// Error returns a message with the first line and the known formats.
func (e *FormatError) Error() string {
	which := "one of the known formats"
	if e.Format != "" {
		which = "the format " + e.Format
	}
	return fmt.Sprintf("%s: no line is in %s; the first is %q; the formats are %s",
		e.Input, which, e.Line, strings.Join(Formats(), ", "))
}

var errFormat = errors.New("the line is in no known format")

// line parses a line in the format p.format. If p.format is "", line detects
// the format.
func (p *parser) line(line []byte) (entry, error) {
	switch p.format {
	case "":
		return p.detect(line)
	case FormatCombined:
		return p.combined(line)
	case FormatW3C:
		return p.w3c(line)
	case FormatALB:
		return p.alb(line)
	}
	return p.json(line, p.format)
}

// detect reads a line in any format. Lines of JSON begin with a brace, and
// those of the other formats differ in their first words.
func (p *parser) detect(line []byte) (entry, error) {
	switch line[0] {
	case '{':
		return p.json(line, "")
	case '#':
		return p.w3c(line)
	}
	if beginsLikeALB(line) {
		return p.alb(line)
	}
	if p.columns != nil {
		if e, err := p.w3c(line); err == nil {
			return e, nil
		}
	}
	e, err := p.combined(line)
	if errors.Is(err, errLine) {
		err = errFormat
	}
	return e, err
}

// glance returns the time of a line without parsing the whole line, and a part
// of the line that contains the URL. at is "never" if the line has no time.
// isQuick is false if the format of the line requires that the whole line is
// parsed.
func (p *parser) glance(line []byte) (at int64, request []byte, isQuick bool) {
	if p.isCombined(line) {
		_, at, rest, ok := p.cutDate(line)
		if !ok {
			return never, nil, true
		}
		request, _, _ = quoted(rest)
		return at, request, true
	}
	if p.format == "" && isCaddy(line) {
		at, _ = moment(caddyTime(line))
		return at, line, true
	}
	return never, nil, false
}

// isCombined reports whether the combined format is the only one in which a
// line may be.
func (p *parser) isCombined(line []byte) bool {
	if p.format != "" {
		return p.format == FormatCombined
	}
	isOther := line[0] == '{' || line[0] == '#' || p.columns != nil
	return !isOther && !beginsLikeALB(line)
}

// isFormat reports whether Auditor.Format may have this value.
func isFormat(name string) bool { return name == "" || slices.Contains(Formats(), name) }

// shorten returns the beginning of a line, for a message.
func shorten(line []byte) string {
	const maxBytes = 200
	line = bytes.TrimSpace(line)
	if len(line) > maxBytes {
		end := maxBytes
		for end > maxBytes-utf8.UTFMax && !utf8.RuneStart(line[end]) {
			end--
		}
		return string(line[:end]) + "…" // bytes that are no UTF-8 remain
	}
	return string(line)
}

// json reads a line that is a JSON object. If format is "", it is derived from
// the members. If the object is that of docker or a log shipper, and contains a
// line in another format, json reads the inner line.
func (p *parser) json(line []byte, format string) (entry, error) {
	if line[0] != '{' {
		return entry{}, errJSON
	}
	if format == FormatCaddy || format == "" && isCaddy(line) {
		return p.caddy(line)
	}
	if p.members == nil {
		p.members = make(members)
	}
	m := p.members
	clear(m)
	ok := eachMember(line, func(name, value []byte) {
		if known, ok := knownMembers[string(name)]; ok {
			m[known] = value
		}
	})
	if !ok {
		return entry{}, errJSON
	}
	if format == "" {
		format = m.format()
	}
	switch format {
	case FormatTraefik:
		return p.entry(m.traefik())
	case FormatLogpush:
		return p.entry(m.logpush())
	case formatDocker:
		return p.nested(text(m["log"]))
	}
	return p.entry(m.nginx())
}

// formatDocker is the JSON of docker, whose member "log" is a line in another
// format.
const formatDocker = "docker"

// format returns the format of a line, judging by its members.
func (m members) format() string {
	switch {
	case m["DownstreamStatus"] != nil && m["RequestPath"] != nil:
		return FormatTraefik
	case m["EdgeStartTimestamp"] != nil:
		return FormatLogpush
	case m["log"] != nil && m["stream"] != nil:
		return formatDocker
	}
	return FormatNginx
}

// nested reads a line that is a text within JSON.
func (p *parser) nested(line string) (entry, error) {
	inner := bytes.TrimRight([]byte(line), "\r\n")
	if len(inner) == 0 || p.isNested {
		return entry{}, nil
	}
	p.isNested = true // because no shipper nests a line twice
	defer func() { p.isNested = false }()
	return p.detect(inner)
}

// knownMembers maps the names of the members that some format uses to
// themselves, so that the name in a line need not be copied.
var knownMembers = func() map[string]string {
	all := make(map[string]string)
	for _, names := range [][]string{traefikMembers, logpushMembers, nginxMembers, {"log", "stream"}} {
		for _, name := range names {
			all[name] = name
		}
	}
	return all
}()
