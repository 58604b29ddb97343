package refusal

import "fmt"

// Kind says what kind of refusal an answer is.
type Kind uint8

const (
	Challenge Kind = iota + 1 // the visitor must pass a test that a browser passes by itself
	Captcha                   // the visitor must pass a test that needs a person
	Block                     // the visitor is refused, and no condition is named
	Payment                   // the page has a price
	License                   // the page needs a licence
	Legal                     // the page is withheld for legal reasons (RFC 7725)
	RateLimit                 // the visitor must send fewer requests (RFC 6585 §4)
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

// String returns the kind in a word or two, such as "rate limit". For the zero
// value and unknown kinds it returns "none".
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return "none"
}

// MarshalText returns the text that String returns.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a text that MarshalText returned, such as the kind of a
// refusal in a log. An unknown text is an error.
func (k *Kind) UnmarshalText(text []byte) error {
	for known := range kindNames {
		if string(text) == Kind(known).String() {
			*k = Kind(known)
			return nil
		}
	}
	return fmt.Errorf("refusal: unknown kind %q: write a text that String returns, such as %q", text, Challenge)
}
