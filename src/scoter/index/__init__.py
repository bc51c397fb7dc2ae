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
- ``snippets``     the passages of pages that results show
- ``search``       answers queries
"""
