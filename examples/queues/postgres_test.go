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
	if err != nil { // Debian installs it outside PATH
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
		cmd.Dir = dir
		cmd.SysProcAttr = attr
		cmd.Stdout = &log
		cmd.Stderr = &log
		return cmd
	}
	data := filepath.Join(dir, "data")
	init := command("initdb", "--pgdata="+data, "--username=postgres", "--auth=trust", "--no-sync",
		"--encoding=UTF8", "--locale=C")
	if err := init.Run(); err != nil {
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
			t.Fatalf("PostgreSQL accepts no connection after 30 s: %v", err)
		}
	}
}

// unprivileged returns the attributes of a process of a user that is not root,
// and makes that user the owner of the directory. It returns nil if this
// process does not run as root.
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

var river = engines[2]

// connectPostgres returns a connection to the server of a run.
func connectPostgres(t *testing.T, r *run) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), strings.TrimPrefix(r.flags[0], "-postgres="))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// Another session locks all jobs in the order opposite to that of the links, as
// River does with some jobs. The locks cause no deadlock with a transaction
// that stores a page. PostgreSQL would end that transaction, and the page would
// be fetched again.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	r := newRun(t, river, nil, &site{hosts: 3, pages: 6, unit: delay})
	conn := connectPostgres(t, r)
	ctx, cancel := context.WithCancel(t.Context())
	var session sync.WaitGroup
	session.Go(func() {
		// PostgreSQL ends the transaction with the shorter deadlock_timeout.
		conn.Exec(ctx, "SET deadlock_timeout = '3s'")
		const lock = "SELECT pg_sleep(0.01) FROM (SELECT id FROM river_job ORDER BY id DESC FOR UPDATE) AS job"
		for ctx.Err() == nil {
			conn.Exec(ctx, lock)
			time.Sleep(200 * time.Millisecond)
		}
	})
	defer session.Wait()
	defer cancel()
	r.crawl()
}

// The database is so slow that two pages of a host are stored at the same time.
// The two transactions cause no deadlock. PostgreSQL would end one of them, and
// its page would be fetched again.
func TestSlowPostgres(t *testing.T) {
	t.Parallel()
	r := newRun(t, river, nil, &site{hosts: 3, pages: 8, unit: delay})
	r.put() // creates the tables
	_, err := connectPostgres(t, r).Exec(t.Context(), `
		CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1.2); RETURN NULL; END';
		CREATE TRIGGER slow AFTER INSERT OR UPDATE ON page EXECUTE FUNCTION slow()`)
	if err != nil {
		t.Fatal(err)
	}
	r.crawl()
}
