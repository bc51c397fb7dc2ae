// Colly crawling the same site: obey robots.txt, follow links, store bodies.
//
//	colly-crawl FOLDER SEED...
//
// Prints one line of JSON with the number of distinct pages and of downloads.
package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/gocolly/colly/v2"
)

func main() {
	folder, seeds := os.Args[1], os.Args[2:]
	var hosts []string
	for _, seed := range seeds {
		parsed, err := url.Parse(seed)
		if err != nil {
			panic(err)
		}
		hosts = append(hosts, parsed.Host, parsed.Hostname())
	}
	crawler := colly.NewCollector(colly.Async(true), colly.AllowedDomains(hosts...), colly.UserAgent("bench"))
	crawler.IgnoreRobotsTxt = false
	crawler.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 50})
	var downloads, pages atomic.Int64
	var known sync.Map
	crawler.OnHTML("a[href]", func(element *colly.HTMLElement) {
		_ = element.Request.Visit(element.Attr("href"))
	})
	crawler.OnResponse(func(response *colly.Response) {
		number := downloads.Add(1)
		if _, found := known.LoadOrStore(response.Request.URL.String(), true); !found {
			pages.Add(1)
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.html", number)), response.Body, 0o644); err != nil {
			panic(err)
		}
	})
	for _, seed := range seeds {
		_ = crawler.Visit(seed)
	}
	crawler.Wait()
	fmt.Printf("{\"pages\": %d, \"downloads\": %d}\n", pages.Load(), downloads.Load())
}
