module colly-crawl

go 1.22

require github.com/gocolly/colly/v2 v2.3.0
