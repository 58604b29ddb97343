package audit

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/goodbots/courtesy/internal/bodycode"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// checkPieces checks the parts of a WARC file that a line refers to. It also
// compares a fetch line with the response in the WARC file.
func (v *recordLine) checkPieces(dir fs.FS) error {
	in := v.Pieces
	if in == nil || in.File == "" {
		return nil
	}
	if v.Event != "fetch" {
		return checkPiece(dir, in.File, &recordPiece{Length: in.Bytes, SHA256: in.SHA256}, nil)
	}
	if in.Request != nil {
		if err := checkPiece(dir, in.File, in.Request, io.Discard); err != nil {
			return err
		}
	}
	answer := cmp.Or(in.Response, in.Revisit)
	if answer == nil {
		return nil
	}
	packed := new(bytes.Buffer)
	if answer.Length > maxAnswer {
		return contradiction("the response in %s has %d bytes, more than %d", in.File, answer.Length, maxAnswer)
	}
	if err := checkPiece(dir, in.File, answer, packed); err != nil {
		return err
	}
	if !v.isAnswer(packed) {
		return contradiction("the fetch line differs from the response in %s", in.File)
	}
	return nil
}

// maxAnswer is the maximum size of the response to a fetch in a WARC file, in
// bytes.
const maxAnswer = 2 << 20

// isAnswer reports whether a WARC record contains the URL, the status and a
// body with the hash of a fetch line. It also sets v.hasRules.
func (v *recordLine) isAnswer(packed io.Reader) bool {
	in, err := newWARCReader(packed)
	if err != nil {
		return false
	}
	r, err := in.next()
	if err != nil || r.err != nil {
		return false
	}
	if r.target != v.Target && isPlain(v.Target) {
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
	if v.Status == 200 {
		for range robotstxt.Parse(bodycode.Text(body, robotstxt.MaxSize)).Groups() {
			v.hasRules = true
			break
		}
	}
	sum := sha256.Sum256(body)
	return err == nil && hex.EncodeToString(sum[:]) == v.SHA256
}

// isPlain reports whether a WARC file contains this URL unescaped.
func isPlain(url string) bool {
	return !strings.ContainsFunc(url, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// checkPiece checks the hash of a part of a WARC file, and copies the part to
// the Writer. If to is nil, the part is the whole file.
func checkPiece(dir fs.FS, name string, p *recordPiece, to io.Writer) error {
	if !fs.ValidPath(name) || strings.Contains(name, "/") {
		return contradiction("%.100q is not a file of the record", name)
	}
	file, err := dir.Open(name)
	if err != nil {
		return &recordFault{incomplete, fmt.Sprintf("the WARC file of the line is missing: %v", err)}
	}
	defer file.Close()
	if seeker, ok := file.(io.Seeker); ok {
		_, err = seeker.Seek(p.Offset, io.SeekStart)
	} else {
		_, err = io.CopyN(io.Discard, file, p.Offset)
	}
	hash := sha256.New()
	if err == nil {
		_, err = io.CopyN(io.MultiWriter(hash, cmp.Or(to, io.Discard)), file, p.Length)
	}
	if err != nil || hex.EncodeToString(hash.Sum(nil)) != p.SHA256 {
		return &recordFault{changed, fmt.Sprintf("bytes %d to %d of %s do not match the hash in the line",
			p.Offset, p.Offset+p.Length, name)}
	}
	if n, err := io.CopyN(io.Discard, file, 1); to == nil && (n > 0 || !errors.Is(err, io.EOF)) {
		return &recordFault{changed, fmt.Sprintf("%s has more bytes than the %d in the line", name, p.Length)}
	}
	return nil
}
