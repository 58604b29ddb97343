package card

import (
	"errors"
	"net/url"
)

// A Flag is the value of -card or -card=URL.
type Flag struct {
	Wanted bool
	URL    string // where the card will be served; "" if not given
}

// IsBoolFlag makes package flag accept -card without a value.
func (f *Flag) IsBoolFlag() bool { return true }

func (f *Flag) String() string {
	if f.URL == "" && f.Wanted {
		return "true"
	}
	return f.URL
}

// Set implements flag.Value.
func (f *Flag) Set(text string) error {
	if text == "true" || text == "false" {
		*f = Flag{Wanted: text == "true"}
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return errors.New("write -card, or -card=URL with the https address at which it is to be served")
	}
	*f = Flag{Wanted: true, URL: text}
	return nil
}
