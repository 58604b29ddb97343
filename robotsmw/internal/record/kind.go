package record

import (
	"crypto/sha256"
	"net/http"
)

// A Kind says how one crawler reads robots.txt files. Crawlers of different
// Kinds can share a Store.
type Kind struct {
	Tokens            []string // product tokens, in order of preference
	KeepFiles         bool     // keep each file in addition to its rules
	DisallowForbidden bool     // 401 and 403 disallow everything

	// Read is called with each robots.txt and its hash, before the file becomes
	// part of a record. Nil means that nothing is called.
	Read func(hash [sha256.Size]byte, body []byte)

	Documents Documents // the documents in this crawler's cache
}

// Document returns what this crawler needs of a robots.txt, given the file's
// body.
func (k *Kind) Document(body []byte) *Document {
	hash := sha256.Sum256(body)
	if k.Read != nil {
		k.Read(hash, body)
	}
	return k.Documents.document(hash, body, k.Tokens, k.KeepFiles)
}

// WithoutFile returns the state for a status that means there is no robots.txt.
func (k *Kind) WithoutFile(status int) State {
	if k.DisallowForbidden && (status == http.StatusUnauthorized || status == http.StatusForbidden) {
		return Forbidden
	}
	return Unavailable
}
