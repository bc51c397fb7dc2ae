"""What a batch crawl costs: whole crawls beside Scrapy, jobs over large tables, memory of a fetch."""
