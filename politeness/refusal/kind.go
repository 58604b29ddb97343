package refusal

import "fmt"

// Kind says what a refusal asks for.
type Kind uint8

const (
	Challenge Kind = iota + 1 // a test that a browser passes by itself
	Captcha                   // a test for a person
	Block                     // a plain no
	Payment                   // a price
	License                   // a licence
	Legal                     // no, for legal reasons (RFC 7725)
	RateLimit                 // fewer requests (RFC 6585 §4)
)

var kindNames = [...]string{
	Challenge: "challenge",
	Captcha:   "captcha",
	Block:     "block",
	Payment:   "payment",
	License:   "licence",
	Legal:     "legal",
	RateLimit: "rate limit",
}

// String returns the kind in a word or two, such as "rate limit".
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return "none"
}

// MarshalText returns what String returns.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText wrote, so that a program can read the
// refusals in a log.
func (k *Kind) UnmarshalText(text []byte) error {
	for known := range kindNames {
		if string(text) == Kind(known).String() {
			*k = Kind(known)
			return nil
		}
	}
	return fmt.Errorf("refusal: unknown kind %q: write a text that String returns, such as %q", text, Challenge)
}
