package refusal

import "fmt"

// A Kind is a kind of [Refusal].
type Kind uint8

const (
	Challenge Kind = iota + 1 // the client must pass a test that browsers pass automatically
	Captcha                   // the client must pass a test that requires a person
	Block                     // the client is blocked unconditionally
	Payment                   // the page has a price
	License                   // the page requires a license
	Legal                     // the page is withheld for legal reasons (RFC 7725)
	RateLimit                 // the client must send fewer requests (RFC 6585 §4)
)

var kindNames = [...]string{
	Challenge: "challenge",
	Captcha:   "captcha",
	Block:     "block",
	Payment:   "payment",
	License:   "license",
	Legal:     "legal",
	RateLimit: "rate limit",
}

// String returns a name such as "rate limit". It returns "none" for the zero
// value and unknown kinds.
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return "none"
}

// MarshalText implements [encoding.TextMarshaler]. The text is that of String.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. It returns an error if
// the text is not the name of a Kind.
func (k *Kind) UnmarshalText(text []byte) error {
	name := string(text)
	if name == "licence" { // spelling in older records
		name = License.String()
	}
	for i := range kindNames {
		if kind := Kind(i); kind.String() == name {
			*k = kind
			return nil
		}
	}
	return fmt.Errorf("refusal: unknown kind %q", text)
}
