package record

import (
	"crypto/sha256"
	"net/http"
)

// A Kind is how one crawler reads what it gets. Two crawlers of one fleet may
// differ in it, and share what is stored all the same.
type Kind struct {
	Tokens            []string // product tokens, in order of preference
	KeepFiles         bool     // keep each file beside its rules
	DisallowForbidden bool     // 401 and 403 disallow everything

	// Read is told of each robots.txt before a record has it. Nil: nobody is.
	Read func(hash [sha256.Size]byte, body []byte)

	Documents Documents // in the cache of this crawler
}

// Document is what a body says to this crawler.
func (k *Kind) Document(body []byte) *Document {
	hash := sha256.Sum256(body)
	if k.Read != nil {
		k.Read(hash, body)
	}
	return k.Documents.of(hash, body, k.Tokens, k.KeepFiles)
}

// WithoutFile is what a status says that means there is no robots.txt.
func (k *Kind) WithoutFile(status int) State {
	if k.DisallowForbidden && (status == http.StatusUnauthorized || status == http.StatusForbidden) {
		return Forbidden
	}
	return Unavailable
}
