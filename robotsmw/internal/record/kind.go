package record

import "net/http"

// A Kind is how one crawler reads what it gets. Two crawlers of one fleet may
// differ in it, and share what is stored all the same.
type Kind struct {
	Tokens            []string // product tokens, in order of preference
	KeepFiles         bool     // keep each file beside its rules
	DisallowForbidden bool     // 401 and 403 disallow everything

	Documents Documents // in the cache of this crawler
}

// Document is what a body says to this crawler.
func (k *Kind) Document(body []byte) *Document {
	return k.Documents.of(body, k.Tokens, k.KeepFiles)
}

// WithoutFile is what a status says that means there is no robots.txt.
func (k *Kind) WithoutFile(status int) State {
	if k.DisallowForbidden && (status == http.StatusUnauthorized || status == http.StatusForbidden) {
		return Forbidden
	}
	return Unavailable
}
