"""One module per command of a batch crawl."""
