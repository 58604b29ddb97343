package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A recordPiece is a part of a WARC file (with Offset and Length), or a whole
// WARC file (with Bytes).
type recordPiece struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// checkPieces checks the WARC file that a line names. For a fetch line, it also
// compares the line with the answer in the WARC file.
func (v *recordLine) checkPieces(dir fs.FS) error {
	if len(v.Pieces) == 0 {
		return nil
	}
	if v.Event != "fetch" {
		var whole recordPiece
		if json.Unmarshal(v.Pieces, &whole) != nil || whole.File == "" {
			return nil
		}
		return checkPiece(dir, whole.File, 0, whole.Bytes, whole.SHA256, nil)
	}
	var parts struct {
		File                                 string
		Request, Response, Revisit, Metadata *recordPiece
	}
	if json.Unmarshal(v.Pieces, &parts) != nil {
		return nil
	}
	for _, p := range []*recordPiece{parts.Request, parts.Metadata} {
		if p == nil {
			continue
		}
		if err := checkPiece(dir, parts.File, p.Offset, p.Length, p.SHA256, io.Discard); err != nil {
			return err
		}
	}
	for _, p := range []*recordPiece{parts.Response, parts.Revisit} {
		if p == nil {
			continue
		}
		answer := new(bytes.Buffer)
		if err := checkPiece(dir, parts.File, p.Offset, min(p.Length, mostAnswer), p.SHA256, answer); err != nil {
			return err
		}
		if !v.isAnswer(answer) {
			return contradiction("the fetch is not that in %s", parts.File)
		}
	}
	return nil
}

// mostAnswer is how long the answer to a fetch can be in a WARC file.
const mostAnswer = 2 << 20

// isAnswer reports whether a WARC record has the URL, status and body of a
// fetch line.
func (v *recordLine) isAnswer(packed io.Reader) bool {
	in, err := newWARCReader(packed)
	if err != nil {
		return false
	}
	r, err := in.next()
	if err != nil || r.target != v.Target && isPlain(v.Target) {
		return false
	}
	m, err := r.http()
	if err != nil || m.status != v.Status {
		return false
	}
	if v.SHA256 == "" {
		return true
	}
	body, err := io.ReadAll(m.body)
	sum := sha256.Sum256(body)
	for range robotstxt.Parse(body).Groups() {
		v.hasRules = v.Status == 200
	}
	return err == nil && hex.EncodeToString(sum[:]) == v.SHA256
}

// isPlain reports whether a WARC file has this URL as it is.
func isPlain(url string) bool {
	return !strings.ContainsFunc(url, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// checkPiece checks the hash of a part of a WARC file, and copies the part. If
// to is nil, the part is the whole file.
func checkPiece(dir fs.FS, name string, offset, length int64, want string, to io.Writer) error {
	if !fs.ValidPath(name) || strings.Contains(name, "/") {
		return contradiction("%.100q is no file of the record", name)
	}
	file, err := dir.Open(name)
	if err != nil {
		return &recordFault{incomplete, fmt.Sprintf("the WARC file of the line is missing: %v", err)}
	}
	defer file.Close()
	if seeker, ok := file.(io.Seeker); ok {
		_, err = seeker.Seek(offset, io.SeekStart)
	} else {
		_, err = io.CopyN(io.Discard, file, offset)
	}
	isWhole := to == nil
	if isWhole {
		to = io.Discard
	}
	hash := sha256.New()
	if err == nil {
		_, err = io.CopyN(io.MultiWriter(hash, to), file, length)
	}
	if err != nil || hex.EncodeToString(hash.Sum(nil)) != want {
		return &recordFault{changed, fmt.Sprintf("bytes %d to %d of %s have another hash than the line says", offset, offset+length, name)}
	}
	if n, err := io.CopyN(io.Discard, file, 1); isWhole && (n > 0 || !errors.Is(err, io.EOF)) {
		return &recordFault{changed, fmt.Sprintf("%s has more than the %d bytes that the line says", name, length)}
	}
	return nil
}
