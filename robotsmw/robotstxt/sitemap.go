package robotstxt

// Sitemaps returns the file's Sitemap lines as written, in order. They belong to no group (RFC 9309 §2.2.4).
func (f *File) Sitemaps() []string {
	var urls []string
	for i := range f.records {
		if r := &f.records[i]; r.field == fieldSitemap && f.value(r) != "" {
			urls = append(urls, f.value(r))
		}
	}
	return urls
}
