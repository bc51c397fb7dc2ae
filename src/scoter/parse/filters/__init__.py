"""Parse filters: plug-ins that read a parsed page once more and add to it, or take from it.

``headings`` and ``metatags`` copy what the page says into its metadata, ``language`` tells its language, ``regex``
takes fields out by rules, ``creativecommons`` and ``reltag`` read what its links say of it, ``naivebayes`` takes the
links from a page that is off the subject. Beside them lies what is no plug-in: ``values`` (how values become metadata),
``rulefiles`` (how files are read), ``tags`` (language tags), ``licences`` (addresses of licences), ``rules`` (the rules
of the filter regex) and ``bayes`` (the classifier).

What a filter finds stands in ``Page.metadata``. A key with several values holds them with a tab between (``values``).
None of them is active unless ``parse.filter_order`` names it.
"""
