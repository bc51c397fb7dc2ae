"""A search box for a website: a public search server, and an index in files that needs no server.

- ``records``               what a search returns
- ``hits``                  results of the index as such records
- ``open_index``            the index of a crawl, opened again when it was renewed
- ``gate``                  which requests are answered: hosts, origins, rates
- ``server``                the application and its process: `scoter search-server`
- ``box_files``             the script of the box and the page that shows it
- ``site_pages``            the pages that the index in files has
- ``words``                 how the index in files cuts text, which the script does, too
- ``term_runs``             its inverted index while it is made: sorted runs on disk
- ``term_shards``           its files
- ``site_files``            the folder as a whole: `scoter search-site`

``static/search-box.js`` is the box for both.
"""
