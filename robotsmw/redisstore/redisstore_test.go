package redisstore_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/redisstore"
)

// The tests against real servers are in integration_test.

var (
	_ robotsmw.Store  = (*redisstore.Store)(nil)
	_ robotsmw.Locker = (*redisstore.Store)(nil)
)

func TestNilClient(t *testing.T) {
	if _, err := redisstore.New(nil, ""); err == nil {
		t.Error("New with a nil client returned no error, want one")
	}
}

func TestErrorsNameNoSecret(t *testing.T) {
	redis.SetLogger(quiet{})
	client := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}, Password: "hunter2", MaxRetries: -1})
	defer client.Close()
	store, err := redisstore.New(client, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Get(t.Context(), "https://example.com"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("Get without a server returned error %v, want one that does not contain the password", err)
	}
}

// A quiet logger discards what go-redis logs about the refused connection.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func ExampleNew() {
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs:       []string{"127.0.0.1:6379"},
		DialTimeout: 100 * time.Millisecond, ReadTimeout: 100 * time.Millisecond,
	})
	defer client.Close()
	store, err := redisstore.New(client, "mybot:")
	if err != nil {
		log.Fatal(err)
	}
	_, err = robotsmw.NewClient(robotsmw.Options{
		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
		Store:     store,
	})
	fmt.Println(err)
	// Output: <nil>
}
