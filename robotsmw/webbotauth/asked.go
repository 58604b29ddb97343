package webbotauth

import (
	"net/http"
	"strings"

	"github.com/goodbots/courtesy/politeness/structured"
)

// Asked describes the signature that a response requests (Accept-Signature, RFC
// 9421 §5.1), and the parts of it that [Transport] does not send. If the
// response has no Accept-Signature, or an empty one, Asked returns "". A 401 or
// 403 with this field requests a signature, and a 429 a new one (draft section
// 5.3).
//
// The text is one line of at most 600 bytes of printable ASCII. Tags and
// components of more than 200 bytes are shortened and end with "...".
func Asked(resp *http.Response) string {
	const field = "Accept-Signature"
	members, ok := dictionaryField(resp.Header, field)
	if ok && len(members) == 0 {
		return ""
	}
	if !ok {
		return "requests a signature, but its Accept-Signature is invalid"
	}
	var requested []string
	for _, m := range members {
		requested = append(requested, describe(m))
	}
	text := strings.Join(requested, "; or ")
	if len(text) > maxDescription {
		text = text[:maxDescription-3] + "..."
	}
	return text
}

// maxDescription is the maximum length of the result of Asked, in bytes.
const maxDescription = 600

// describe returns the description of one member of Accept-Signature.
func describe(m structured.Member) string {
	if m.Value != "" {
		return "requests a signature without a list of components"
	}
	text := "requests a signature"
	if tag, ok := m.Param("tag"); ok && tag == `"web-bot-auth"` {
		text = "requests a Web Bot Auth signature"
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
		case "created", "expires", "keyid", "tag": // a Transport sends these parameters
		case "alg":
			if p.Value != `"ed25519"` && p.Value != "?1" {
				missing = append(missing, "alg="+printable(p.Value))
			}
		default: // a Transport does not send others, such as nonce
			missing = append(missing, p.Key)
		}
	}
	if len(missing) > 0 {
		text += "; the signatures of this crawler lack " + strings.Join(missing, ", ")
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
