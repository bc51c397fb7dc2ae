"""The report on a site's health: what is wrong with its pages and links.

- ``tables``       the folder ``site`` of a crawl: its files and their columns
- ``page_tables``  reads every archived page once, in worker processes
- ``listings``     keeps what seed lists and sitemaps name
- ``requests``     asks for what the crawl did not fetch: images, styles, external links
- ``state``        what is known about each URL, as tables of a SQL workspace: answers, redirects, pages, links
- ``depth``        how many clicks each page is away from the start pages
- ``problem_kind`` what a kind of problem is, and SQL that several share
- ``errors``       the worst kinds of problems
- ``problems``     all kinds of problems, with the SQL that finds them and what to do about them
- ``analysis``     finds all problems and stores them
- ``queries``      SQL over the stored problems
- ``page``         the report as an HTML page
"""
