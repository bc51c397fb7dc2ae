"""The rules of the crawl as pure functions: values in, values out.

Nothing here opens a file or a socket, reads the clock or draws random numbers, so every rule can be tried at a prompt
and tested over its whole range. An import contract enforces this.

- ``url``             URLs in canonical form
- ``domain``          hosts and registered domains
- ``addresses``       which IP addresses are public
- ``extract``         finds URLs in running text
- ``datum``           the crawl datum: the record of a URL, and its statuses
- ``update``          the update rule: the one function that changes a status
- ``schedule``        when a page is due again
- ``scoring``         the chain of scoring filters; OPIC and depth
- ``signature``       when two pages are duplicates, or nearly
- ``similarity``      cosine similarity of texts
- ``traps``           the signs of a crawler trap in URLs and texts
- ``reply``           requests and replies
- ``representative``  which URL of a redirect people should see
- ``page``            a parsed page
- ``language_tags``   normalises language tags
- ``needles``         whether any of several byte strings occurs in others
- ``document``        documents for search indexes
- ``metadata``        what a page says about itself
- ``robots``          robots.txt rules
- ``robots_cache``    the robots.txt cache that processes share
- ``filters/``        the rules of the URL filters
- ``normalizers/``    the rules of the URL normalisers
- ``chain``           runs chains of filters and normalisers
- ``rule_lines``      what all rule files have in common
- ``csv_cells``       cells that spreadsheets open safely
- ``pattern``         regular expressions that cannot hang
- ``java_regex``      Java's regular expressions, translated for RE2 and ``regex``
- ``expr/``           the expression language that selects records
- ``bounded``         a map of bounded size (LRU)
- ``dates``           parses dates and durations
- ``display``         formats counts, sizes, durations and ages
"""
