package collyrobots_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// The collector has no request timeout, and its transport is a
// politeness.Transport without an AttemptTimeout. As without Attach, the
// default of that transport limits the attempts.
func TestDefaults_AttemptTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("slow.example", robotstest.Hang{})
		c := colly.NewCollector()
		c.SetRequestTimeout(0)
		c.WithTransport(&politeness.Transport{Base: &web, Limiter: unpaced()})
		attach(t, c, robotsmw.Options{UserAgent: agent, Override: map[string]string{"http://slow.example": ""}})
		start := time.Now()
		err := c.Visit("http://slow.example/")
		if took := time.Since(start); err == nil || took != politeness.DefaultAttemptTimeout {
			t.Errorf("Visit = %v after %v, want a timeout after %v", err, took, politeness.DefaultAttemptTimeout)
		}
	})
}

// A program that visits a disallowed URL again and again is slowed down to the
// Limiter's Delay.
func TestDefaults_DelayOfALoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", robotstest.Site{"/robots.txt": "User-agent: *\nDisallow: /\n"})
		c := colly.NewCollector(colly.AllowURLRevisit())
		attach(t, c, robotsmw.Options{UserAgent: agent, Base: &web, Limiter: new(politeness.Limiter)})
		start := time.Now()
		for range 3 {
			c.Visit("http://shop.example/")
		}
		if took := time.Since(start); took != politeness.DefaultDelay {
			t.Errorf("three visits took %v, want %v", took, politeness.DefaultDelay)
		}
	})
}
