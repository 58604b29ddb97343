package politeness_test

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// One host gets a request every three seconds at most. All others keep the
// Delay of the Limiter.
func ExampleLimiter_perHost() {
	perHost := map[string]politeness.HostSettings{"slow.example.com": {Delay: 3 * time.Second}}
	limiter := &politeness.Limiter{
		Delay:   time.Second,
		PerHost: func(key string) politeness.HostSettings { return perHost[key] },
	}
	for _, s := range []string{"https://slow.example.com/", "https://www.example.com/"} {
		u, _ := url.Parse(s)
		grant, err := limiter.Acquire(context.Background(), u)
		if err != nil {
			fmt.Println(err)
			return
		}
		grant.Done(politeness.Outcome{Status: 200})
		fmt.Println(u.Host, "again in", time.Until(limiter.Next(u)).Round(time.Second))
	}
	// Output:
	// slow.example.com again in 3s
	// www.example.com again in 1s
}

// The robots.txt of a host has a Crawl-delay of ten seconds for all robots. Its
// owner has agreed to ten requests a second from this one. Delay has to be set
// too, because it would otherwise be one second.
func ExampleLimiter_perHostAgreement() {
	var web robotstest.Internet
	web.Handle("partner.example", robotstest.Site{
		"/robots.txt": "User-agent: *\nCrawl-delay: 10\n",
		"/1":          "page 1", "/2": "page 2", "/3": "page 3",
	})
	agreed := politeness.HostSettings{Delay: 100 * time.Millisecond, CrawlDelay: 100 * time.Millisecond}
	perHost := map[string]politeness.HostSettings{"partner.example": agreed}
	client, err := robotsmw.NewClient(robotsmw.Options{
		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
		Base:      &web,
		Limiter: &politeness.Limiter{
			PerHost: func(key string) politeness.HostSettings { return perHost[key] },
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	start := time.Now()
	for _, page := range []string{"/1", "/2", "/3"} {
		resp, err := client.Get("http://partner.example" + page)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
		fmt.Println(page, resp.Status)
	}
	fmt.Println("sooner than robots.txt allows:", time.Since(start) < 10*time.Second)
	// Output:
	// /1 200 OK
	// /2 200 OK
	// /3 200 OK
	// sooner than robots.txt allows: true
}

// An operator changes the settings of a host while the crawl runs. The next
// request puts them in force, also for the requests that wait already.
func ExampleLimiter_perHostChange() {
	var mu sync.Mutex
	perHost := map[string]politeness.HostSettings{"www.example.com": {Delay: time.Hour}}
	limiter := &politeness.Limiter{PerHost: func(key string) politeness.HostSettings {
		mu.Lock()
		defer mu.Unlock()
		return perHost[key]
	}}
	u, _ := url.Parse("https://www.example.com/")
	request := func() {
		grant, err := limiter.Acquire(context.Background(), u)
		if err != nil {
			fmt.Println(err)
			return
		}
		grant.Done(politeness.Outcome{Status: 200})
	}
	request()
	fmt.Println("next in", time.Until(limiter.Next(u)).Round(time.Minute))

	var waiting sync.WaitGroup
	waiting.Go(request) // it would wait for an hour

	mu.Lock()
	perHost["www.example.com"] = politeness.HostSettings{Delay: 20 * time.Millisecond}
	mu.Unlock()
	request()
	waiting.Wait()
	fmt.Println("three requests were made")
	// Output:
	// next in 1h0m0s
	// three requests were made
}
