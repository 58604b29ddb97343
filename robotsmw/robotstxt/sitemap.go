package robotstxt

// Sitemaps returns the file's Sitemap lines as written, in order. They belong to no group (RFC 9309 §2.2.4).
func (f *File) Sitemaps() []string {
	var urls []string
	for _, r := range f.records {
		if r.field == fieldSitemap && r.value != "" {
			urls = append(urls, r.value)
		}
	}
	return urls
}
