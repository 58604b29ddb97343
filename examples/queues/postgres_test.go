//go:build unix

package queues

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// startPostgres starts a PostgreSQL of its own for a test. PostgreSQL refuses
// to run as root, so root runs it as another user.
func startPostgres(t *testing.T) []string {
	t.Helper()
	initdb, err := exec.LookPath("initdb")
	if err != nil { // Debian has it in no directory of PATH
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
		if len(found) == 0 {
			t.Skip("SKIPPED: PostgreSQL is not installed: install Debian's postgresql to run this test")
		}
		initdb = found[len(found)-1]
	}
	if initdb, err = filepath.EvalSymlinks(initdb); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "postgres") // a user other than root could not enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	attr := unprivileged(t, dir)
	var log bytes.Buffer
	command := func(program string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(filepath.Dir(initdb), program), args...)
		cmd.Dir, cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = dir, attr, &log, &log
		return cmd
	}
	data := filepath.Join(dir, "data")
	if err := command("initdb",
		"--pgdata="+data, "--username=postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C").Run(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, log.Bytes())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	log.Reset()
	cmd := command("postgres", "-D", data, "-h", "127.0.0.1", "-p", strconv.Itoa(port), "-k", dir, "-F")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGINT) // a fast shutdown
		cmd.Wait()
	})
	url := fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		conn, err := pgx.Connect(t.Context(), url)
		if err == nil {
			conn.Close(context.Background())
			return []string{"-postgres=" + url}
		}
		if time.Now().After(deadline) {
			t.Fatalf("PostgreSQL does not start: %v", err)
		}
	}
}

// unprivileged returns how a process runs as a user who is not root, and gives
// the directory to that user.
func unprivileged(t *testing.T, dir string) *syscall.SysProcAttr {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
		return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	t.Skip("SKIPPED: PostgreSQL does not run as root, and there is no user postgres or nobody")
	return nil
}

// Somebody locks all jobs, in the order opposite to that of links, as River
// does with some. No transaction that stores a page is ended by a deadlock: the
// page would be fetched again.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	r := newRun(t, "river", true, startPostgres(t), nil, &site{hosts: 3, pages: 6, unit: delay})
	locking, err := pgx.Connect(t.Context(), strings.TrimPrefix(r.flags[0], "-postgres="))
	if err != nil {
		t.Fatal(err)
	}
	defer locking.Close(context.Background())
	ctx, cancel := context.WithCancel(t.Context())
	var locker sync.WaitGroup
	locker.Go(func() {
		locking.Exec(ctx, "SET deadlock_timeout = '3s'") // of two that wait, who has the longer one goes on
		for ctx.Err() == nil {
			locking.Exec(ctx, "SELECT pg_sleep(0.01) FROM (SELECT id FROM river_job ORDER BY id DESC FOR UPDATE) AS job")
			time.Sleep(200 * time.Millisecond)
		}
	})
	r.crawl(true)
	cancel()
	locker.Wait()
}

// The database is so slow that two pages of a host are stored at the same time.
// Neither ends the other by a deadlock: the page would be fetched again.
func TestSlowPostgres(t *testing.T) {
	t.Parallel()
	r := newRun(t, "river", true, startPostgres(t), nil, &site{hosts: 3, pages: 8, unit: delay})
	if out, err := r.command(0, "put").CombinedOutput(); err != nil { // the tables
		t.Fatalf("put: %v\n%s", err, out)
	}
	conn, err := pgx.Connect(t.Context(), strings.TrimPrefix(r.flags[0], "-postgres="))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), `
		CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1.2); RETURN NULL; END';
		CREATE TRIGGER slow AFTER INSERT OR UPDATE ON page EXECUTE FUNCTION slow()`)
	if err != nil {
		t.Fatal(err)
	}
	r.crawl(true)
}
