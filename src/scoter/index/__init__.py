"""Documents and search: from crawled pages to search indexes, and queries over the embedded one.

- ``documents``    makes a document of a crawled page, with the active filters
- ``routes``       which writers get a document, and how they name its fields
- ``delivery``     passes documents on to the writers
- ``writers/``     the built-in index writers
- ``text_index``   the embedded index
- ``languages``    how text is cut into terms
- ``damage``       finds and reports damaged indexes
- ``near_duplicates``  tells whether two texts are nearly the same
- ``query``        the query language
- ``clauses``      queries in tantivy's form
- ``explanation``  why a result has its score
- ``suggestions``  better spellings of queries
- ``symbols``      terms for words with symbols, such as ``--onto`` and ``C++``
- ``heading_keys`` what makes a query that is a heading find it
- ``phrases``      which pages have a phrase as it is written
- ``matches``      where the words of a query are in a text
- ``sections``     the sections of pages in their texts
- ``snippets``     the passages of pages that results show
- ``extracts``     section and passage of a result
- ``search``       answers queries
"""
