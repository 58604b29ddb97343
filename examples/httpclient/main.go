// Httpclient fetches the URLs on its command line with an http.Client that
// obeys robots.txt.
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/goodbots/courtesy/robotsmw"
)

func main() {
	client, err := robotsmw.NewClient(robotsmw.Options{UserAgent: "ExampleBot/1.0 (+https://example.com/bot)"})
	if err != nil {
		log.Fatal(err)
	}
	if len(os.Args) == 1 {
		log.Fatal("name the URLs to fetch, as in: httpclient https://example.com/")
	}
	status := 0
	for _, url := range os.Args[1:] {
		resp, err := client.Get(url)
		if err != nil { // err is a *robotsmw.DisallowedError if robots.txt disallows the URL
			fmt.Println(err)
			status = 1
			continue
		}
		resp.Body.Close()
		fmt.Println(resp.Status, url)
	}
	os.Exit(status)
}
