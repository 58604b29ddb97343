module github.com/goodbots/courtesy/integration_test/peers

go 1.26.0

replace github.com/goodbots/courtesy => ../..

require github.com/goodbots/courtesy v0.0.0

require github.com/temoto/robotstxt v1.1.2
