"""The rules of the crawl as pure functions: text and values in, values out.

Nothing here opens a file, asks the time, draws a random number or touches a socket, so every rule can
be tried at a prompt and tested over its whole range. An import contract keeps it so.

- ``url``, ``domain``   what a URL is, under which form, key and host it is stored
- ``datum``, ``update`` what is known of a URL, and the one function that changes it
- ``schedule``          when a page is due again
- ``opic``, ``depth``, ``scoring``  how scores start, spread and add up, one filter after another
- ``signature``         when two pages are the same, or nearly
- ``robots``            what a site allows
- ``pattern``, ``dialect``  regular expressions that cannot hang, written as Java has them
- ``filters``, ``normalizers``, ``chain``  which URLs are kept, in which spelling, one rule after another
- ``reply``, ``outcome``, ``page``  what the web answered, what it means, and what a page says
- ``rates``             rule files of the adaptive schedules
- ``expr``              the language that records are selected by
"""
