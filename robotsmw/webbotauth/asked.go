package webbotauth

import (
	"net/http"
	"strings"

	"github.com/goodbots/courtesy/politeness/structured"
)

// Asked describes which signature a response requests (Accept-Signature, RFC
// 9421 §5.1), and which parts of this signature [Transport] does not send. If
// the response has no Accept-Signature, or an empty one, Asked returns "". A
// server requests a signature with a 401 or 403, and a new one with a 429
// (draft section 5.3).
//
// The text is one line of 600 bytes at most, in printable ASCII. A tag or
// component of more than 200 bytes is cut and ends with "...".
func Asked(resp *http.Response) string {
	const field = "Accept-Signature"
	members, ok := dictionaryOf(resp.Header, field)
	if ok && len(members) == 0 {
		return ""
	}
	if !ok {
		return "asks for a signature, in an Accept-Signature that cannot be read"
	}
	var asked []string
	for _, m := range members {
		asked = append(asked, ask(m))
	}
	text := strings.Join(asked, "; or ")
	if len(text) > maxAsked {
		text = text[:maxAsked-3] + "..."
	}
	return text
}

const maxAsked = 600

// ask describes one member of Accept-Signature.
func ask(m structured.Member) string {
	if m.Value != "" {
		return "asks for a signature without saying of what"
	}
	text := "asks for a signature"
	if tag, ok := m.Param("tag"); ok && tag == `"web-bot-auth"` {
		text = "asks for a Web Bot Auth signature"
	} else if ok {
		text += " with the tag " + printable(tag)
	}
	var covered, missing []string
	for _, it := range m.List {
		name := printable(it.String())
		covered = append(covered, name)
		if !isCovered(it) {
			missing = append(missing, name)
		}
	}
	if len(covered) > 0 {
		text += " of " + strings.Join(covered, " ")
	}
	for _, p := range m.Params {
		switch p.Key {
		case "created", "expires", "keyid", "tag": // Transport sends these parameters
		case "alg":
			if p.Value != `"ed25519"` && p.Value != "?1" {
				missing = append(missing, "alg="+printable(p.Value))
			}
		default: // Transport does not send others, such as nonce
			missing = append(missing, p.Key)
		}
	}
	if len(missing) > 0 {
		text += "; ours has no " + strings.Join(missing, ", ")
	}
	return text
}

// isCovered reports whether a Transport's signatures cover a component.
// Both forms of Signature-Agent count as covered, whatever LegacyAgent is.
func isCovered(it structured.Member) bool {
	switch it.String() {
	case `"@authority"`, `"@method"`, `"@path"`, `"signature-agent"`:
		return true
	}
	_, isMember := it.Param("key")
	return it.Value == `"signature-agent"` && isMember && len(it.Params) == 1
}
