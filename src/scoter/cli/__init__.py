"""The command line.

What commands share:

- ``main``         the table of commands (``COMMANDS``); turns errors into exit codes
- ``invocation``   options that several commands share, and the configuration they lead to
- ``former_names``  options that were renamed
- ``nutch_settings``  config import-nutch
- ``counterparts``  generates the docs page about Nutch's commands, plug-ins and properties
- ``manual``       generates the docs page of all commands, and the man page
- ``session``      opens a crawl directory for a command: lock, engine, status line
- ``crawl_seeds``  what the seeds of ``crawl`` say about their hosts
- ``crawl_summary``  the summary at the end of ``crawl``
- ``files``        reads input: files, lines and URLs
- ``own_settings`` which settings of crawl directories this user has recorded
- ``output``       messages, colours, widths and the status line
- ``results``      prints tables, JSON and CSV, and writes dumps to files
- ``api_keys``     options that create, list and revoke API keys
- ``job_commands``  the commands that ``ui`` can run as jobs, derived from their options
- ``diagnosis/``   what ``doctor`` checks
- ``parsecheck/``  how ``parsechecker`` and ``indexchecker`` examine a document

Commands; ``main`` imports a module when one of its commands is used:

- ``backup``        backup
- ``checkers``      filterchecker, normalizerchecker, robotschecker
- ``cluster``       serve --role
- ``completion``    completion
- ``config``        config
- ``crawl``         crawl
- ``dedup``         dedup
- ``doctor``        doctor
- ``explain``       explain
- ``export``        export
- ``corpus``        corpus
- ``fetch``         fetch
- ``generate``      generate, freegen
- ``import_nutch_crawl``  import-nutch-crawl
- ``index``         index, clean, search
- ``indexchecker``  indexchecker
- ``inject``        inject
- ``invertlinks``   invertlinks
- ``linkrank``      linkrank, scoreupdater
- ``webgraph``      webgraph, readwebgraph, nodedumper
- ``hostdb``        updatehostdb, readhostdb
- ``live``          live migrate
- ``lookup``        lookup
- ``merge``         merge, mergedb, mergelinkdb, mergesegs
- ``parse``         parse
- ``parsechecker``  parsechecker
- ``plugin``        plugin
- ``compact``       compact
- ``prune``         prune
- ``queries``       sql, report
- ``checksite``     checksite, and the report on the health of a site
- ``readdb``        readdb
- ``readlinkdb``    readlinkdb
- ``readseg``       readseg
- ``serve``         serve
- ``simweb``        simweb
- ``sitemap``       sitemap
- ``site_search``   search-server, search-site
- ``spark_cluster``  cluster
- ``statistics``    crawlcomplete, domainstats, protocolstats
- ``submit``        submit
- ``ui``            ui
- ``updatedb``      updatedb
- ``watch``         watch
"""
