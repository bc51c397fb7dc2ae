"""The rules of the crawl as pure functions: values in, values out.

Nothing here opens a file, reads the clock, uses random numbers or sockets, so every rule can be tried at a prompt and
tested over its whole range. An import contract enforces this.

- ``url``, ``domain``, ``addresses``  URLs, hosts and IP addresses
- ``datum``, ``update``  what is known about a URL, and the one function that changes it
- ``schedule``, ``scoring``  when a page is due again, and how scores are computed
- ``signature``  when two pages are duplicates, or nearly
- ``robots``  what a site allows
- ``pattern``, ``dialect``  regular expressions that cannot hang, in Java's syntax
- ``filters``, ``normalizers``, ``chain``, ``rule_lines``  which URLs are kept, in which spelling
- ``reply``, ``page``, ``metadata``  what a server answered, and what a page says
- ``extract``  URLs in running text
- ``expr``  the language that selects records
- ``bounded``, ``dates``, ``display``  an LRU map, date parsing, formatting
"""
