package robotstxt

// For the tests that are written as a user's.

var SharedDir = sharedDir

// GooglePath returns the path of a URL as the Google dialect compares it.
func GooglePath(url string) string { return string(appendGoogleTarget(nil, url)) }
