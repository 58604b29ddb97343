package robotstest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A crawler's test builds a site, crawls it, and reads in Internet.Log what was
// requested.
func Example() {
	var web robotstest.Internet
	web.Handle("shop.example", robotstest.Site{
		"/robots.txt": "User-agent: *\nDisallow: /cart",
		"/":           "<a href=/cart>cart</a>",
	})
	client := &http.Client{Transport: &web}
	for _, page := range []string{"http://shop.example/robots.txt", "http://shop.example/"} {
		resp, err := client.Get(page)
		if err != nil {
			fmt.Println(err)
			return
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Printf("%s\n%s\n", resp.Header.Get("Content-Type"), body)
	}
	for _, r := range web.Log() {
		fmt.Println(r.Method, r.URL, r.Status)
	}
	// Output:
	// text/plain; charset=utf-8
	// User-agent: *
	// Disallow: /cart
	// text/html; charset=utf-8
	// <a href=/cart>cart</a>
	// GET http://shop.example/robots.txt 200
	// GET http://shop.example/ 200
}

func ExampleInternet_Handle() {
	var web robotstest.Internet
	web.Handle("http://old.example", http.RedirectHandler("https://old.example/", http.StatusMovedPermanently))
	web.Handle("https://old.example", robotstest.Status(http.StatusGone))

	resp, err := (&http.Client{Transport: &web}).Get("http://old.example/")
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Request.URL, resp.Status)
	// Output: https://old.example/ 410 Gone
}

func ExampleInternet_Fail() {
	var web robotstest.Internet
	web.Fail("down.example", syscall.ECONNREFUSED)

	_, err := (&http.Client{Transport: &web}).Get("http://down.example/")
	fmt.Println(errors.Is(err, syscall.ECONNREFUSED))
	// Output: true
}

func ExampleRaw() {
	var web robotstest.Internet
	web.Handle("broken.example", robotstest.Raw("HTTP/1.1 200 OK\r\n"+
		"Content-Length: 100\r\n"+
		"\r\n"+
		"User-agent: *"))

	resp, err := (&http.Client{Transport: &web}).Get("http://broken.example/robots.txt")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Printf("%s: %v\n", body, err)
	// Output: User-agent: *: unexpected EOF
}

// These servers are like some that exist: one never responds, one resets the
// connection, and one sends a byte at a time.
func ExampleHang() {
	var web robotstest.Internet
	web.Handle("silent.example", robotstest.Hang{})
	web.Handle("rude.example", robotstest.Reset("User-agent"))
	web.Handle("slow.example", robotstest.Trickle{Chunk: "x", Every: time.Millisecond, Times: 3})
	client := &http.Client{Transport: &web}

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", "http://silent.example/", nil)
	_, err := client.Do(req)
	fmt.Println("silent:", errors.Is(err, context.DeadlineExceeded))

	for _, host := range []string{"rude", "slow"} {
		resp, err := client.Get("http://" + host + ".example/")
		if err != nil {
			fmt.Println(err)
			return
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Printf("%s: %s, reset: %v\n", host, body, errors.Is(err, syscall.ECONNRESET))
	}
	// Output:
	// silent: true
	// rude: User-agent, reset: true
	// slow: xxx, reset: false
}

// A test can check each request: its host, its header, the status and the
// error.
func ExampleInternet_Log() {
	var web robotstest.Internet
	web.Handle("shop.example", robotstest.Site{"/": "welcome"})
	client := &http.Client{Transport: &web}
	for _, u := range []string{"http://shop.example/", "http://typo.example/"} {
		req, _ := http.NewRequest("GET", u, nil)
		req.Header.Set("User-Agent", "ExampleBot/1.0")
		if resp, err := client.Do(req); err == nil {
			resp.Body.Close()
		}
	}
	for _, r := range web.Log() {
		fmt.Println(r.Host, r.Header.Get("User-Agent"), r.Status, r.Err != nil)
	}
	// Output:
	// shop.example ExampleBot/1.0 200 false
	// typo.example ExampleBot/1.0 0 true
}
