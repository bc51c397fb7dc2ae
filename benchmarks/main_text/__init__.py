"""Main text measured on real pages, next to other extractors.

- ``gather``         downloads packages that hold pages, and writes the sets
- ``documentation``  the documentation: packages, and where each generator puts its content
- ``articles``       the articles: the test data of published extractors
- ``page_sets``      the sets on disk, and what is tuned on and what is held out
- ``measures``       what was kept of a page, and what boilerplate was left
- ``candidates``     the extractors
- ``cost``           CPU time per page
- ``report``         tables
"""
