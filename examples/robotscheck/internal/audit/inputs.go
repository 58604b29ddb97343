package audit

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/archive"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
)

// open opens a file, and calls onRead with the number of bytes of each read. If
// name is a URL, perhaps a mistyped one, the error states that audit, unlike
// other commands, does not fetch URLs.
func open(e command.Env, name string, onRead func(n int)) (io.ReadCloser, error) {
	file, err := e.Open(name)
	if err != nil {
		_, isMistyped := errors.AsType[command.UsageError](err)
		if isMistyped || command.IsURL(name) {
			return nil, command.Usagef("%q is not a file, and audit does not fetch URLs; "+
				"save the content in a file, and specify that file", name)
		}
		return nil, err
	}
	if file, ok := file.(*os.File); ok {
		return watchedFile{file, onRead}, nil
	}
	return file, nil
}

// openAll opens logs and WARC files, including those in containers. The
// returned function closes them; it is never nil.
func openAll(
	e command.Env, names []string, onRead func(n int),
) (inputs []audit.Input, closeAll func(), err error) {
	var closes []func()
	closeAll = func() {
		for _, f := range slices.Backward(closes) {
			f()
		}
	}
	for _, name := range names {
		file, err := open(e, name, onRead)
		if err != nil {
			return nil, closeAll, err
		}
		closes = append(closes, func() { file.Close() })
		members, err := archive.Open(command.DisplayName(name), file)
		for _, m := range members {
			closes = append(closes, m.Close)
			inputs = append(inputs, audit.Input{Name: m.Name, Reader: m.Reader})
		}
		if err != nil {
			return nil, closeAll, err
		}
	}
	return inputs, closeAll, nil
}

// A watchedFile calls onRead after each read.
type watchedFile struct {
	*os.File
	onRead func(n int)
}

func (f watchedFile) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	f.onRead(n)
	return n, err
}

func (f watchedFile) ReadAt(b []byte, offset int64) (int, error) {
	n, err := f.File.ReadAt(b, offset)
	f.onRead(n)
	return n, err
}

// A watchedDirectory opens the files of a directory as watchedFiles.
type watchedDirectory struct {
	fs.FS
	onRead func(n int)
}

func (d watchedDirectory) Open(name string) (fs.File, error) {
	file, err := d.FS.Open(name)
	if file, ok := file.(*os.File); ok {
		return watchedFile{file, d.onRead}, err
	}
	return file, err
}
