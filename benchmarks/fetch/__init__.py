"""CPU cost of a fetched page, compared with a bare download loop and with Scrapy; run by ``make bench-fetch``."""
