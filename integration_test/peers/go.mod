module github.com/goodbots/courtesy/integration_test/peers

go 1.26.0

replace github.com/goodbots/courtesy => ../..

require github.com/goodbots/courtesy v0.0.0

require (
	github.com/hashicorp/go-retryablehttp v0.7.8
	github.com/temoto/robotstxt v1.1.2
)

require (
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	golang.org/x/time v0.16.0 // indirect
)
