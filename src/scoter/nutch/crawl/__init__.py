"""Files of a Nutch crawl."""
