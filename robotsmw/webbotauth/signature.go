package webbotauth

import (
	"crypto/ed25519"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// A component is a part of a message that a signature covers.
type component struct {
	id    string // the component identifier in the form of Signature-Input
	value string
}

// signatureBase returns the text that is signed (RFC 9421 §2.5), and the value
// of the corresponding member of Signature-Input. params are the serialized
// parameters of that member.
func signatureBase(covered []component, params string) (base, input string) {
	var b, list strings.Builder
	b.Grow(512)
	list.Grow(256)
	for i, c := range covered {
		b.WriteString(c.id)
		b.WriteString(": ")
		b.WriteString(c.value)
		b.WriteByte('\n')
		list.WriteByte("( "[min(i, 1)])
		list.WriteString(c.id)
	}
	list.WriteByte(')')
	list.WriteString(params)
	b.WriteString(`"@signature-params": `)
	b.WriteString(list.String())
	return b.String(), list.String()
}

// sign signs the covered components. It returns the members of Signature-Input
// and Signature with this label.
func sign(key ed25519.PrivateKey, label string, covered []component, params string) (input, signature string) {
	base, input := signatureBase(covered, params)
	value := ed25519.Sign(key, []byte(base))
	return label + "=" + input, label + "=:" + base64.StdEncoding.EncodeToString(value) + ":"
}

// lifetime returns the serialized parameters "created" and "expires", between
// which a signature is valid.
func lifetime(created, expires time.Time) string {
	return ";created=" + strconv.FormatInt(created.Unix(), 10) + ";expires=" + strconv.FormatInt(expires.Unix(), 10)
}
