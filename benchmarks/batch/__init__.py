"""Cost of a batch crawl: whole crawls compared with Scrapy, and memory of a fetch."""
