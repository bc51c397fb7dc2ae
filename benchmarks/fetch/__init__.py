"""What a fetched page costs, beside a bare download loop and beside Scrapy; ``make bench-fetch`` runs all of it."""
