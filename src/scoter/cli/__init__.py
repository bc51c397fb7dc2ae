"""The command line.

What commands share:

- ``main``         the table of commands (``COMMANDS``); turns errors into exit codes
- ``invocation``   options that several commands share, and the configuration they lead to
- ``session``      opens a crawl directory for a command: lock, engine, status line
- ``files``        reads input: files, lines and URLs
- ``output``       messages, colours, widths and the status line
- ``results``      prints tables, JSON and CSV, and writes dumps to files
- ``parsecheck/``  how ``parsechecker`` examines a document

Commands; ``main`` imports a module when one of its commands is used:

- ``backup``        backup
- ``checkers``      filterchecker, normalizerchecker, robotschecker
- ``config``        config
- ``crawl``         crawl
- ``dedup``         dedup
- ``explain``       explain
- ``fetch``         fetch
- ``generate``      generate, freegen
- ``inject``        inject
- ``invertlinks``   invertlinks
- ``lookup``        lookup
- ``merge``         mergedb, mergelinkdb, mergesegs
- ``parse``         parse
- ``parsechecker``  parsechecker
- ``plugin``        plugin
- ``prune``         prune
- ``queries``       sql, report
- ``readdb``        readdb
- ``readlinkdb``    readlinkdb
- ``readseg``       readseg
- ``serve``         serve
- ``simweb``        simweb
- ``sitemap``       sitemap
- ``statistics``    crawlcomplete, domainstats, protocolstats
- ``submit``        submit
- ``updatedb``      updatedb
- ``watch``         watch
"""
