package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"sync"
)

// A Kind describes how a crawler reads robots.txt files. Crawlers of different
// Kinds can share a Store, because each crawler uses only the records that were
// stored for its own product tokens and User-Agent.
type Kind struct {
	UserAgent         string   // as sent with the requests for robots.txt
	Tokens            []string // product tokens, in order of preference
	KeepFiles         bool     // keep each file in addition to its rules
	DisallowForbidden bool     // 401 and 403 disallow everything

	// Read is called with each robots.txt and its hash, before the file becomes
	// part of a record. Nil means none.
	Read func(hash [sha256.Size]byte, body []byte)

	Documents Documents // the documents in this crawler's cache

	robotOnce sync.Once
	robot     string // see Robot
}

// Robot returns a hash of the product tokens and the User-Agent of this
// crawler, such as "6c0d…", of 32 hexadecimal digits. A site may serve another
// robots.txt, or none, to a robot with another User-Agent. Therefore a record
// is stored under the origin and this hash, and its validators and failures are
// never used for another robot.
func (k *Kind) Robot() string {
	k.robotOnce.Do(func() {
		h := sha256.New()
		for _, text := range append([]string{k.UserAgent}, k.Tokens...) {
			fmt.Fprintf(h, "%d:%s", len(text), text)
		}
		k.robot = hex.EncodeToString(h.Sum(nil)[:16])
	})
	return k.robot
}

// Key returns the key under which the Store has this crawler's record of an
// origin, such as "https://example.com#6c0d…".
func (k *Kind) Key(name string) string { return name + "#" + k.Robot() }

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
	isForbidden := status == http.StatusUnauthorized || status == http.StatusForbidden
	if isForbidden && k.DisallowForbidden {
		return Forbidden
	}
	return Unavailable
}
