"""What happens to a URL: the stages in their order, and what takes URLs through them.

- ``order``         the stages in their order: start here
- ``context``       the record of one URL on its way through the pipeline
- ``scheduler``     takes entries from the journal through the pipeline
- ``limits``        limits the URLs in progress per domain, and pauses while storage is unavailable
- ``retries``       when a URL that could not be fetched is fetched again
- ``parser_pool``   processes that parse what may take long, in a fair order

The stages:

- ``lookup``        answers from the store if a fresh record exists
- ``shared_fetch``  joins a fetch of the same URL that is in progress
- ``requests``      makes each hop once for all redirect chains that need it, and refuses what must not be requested
- ``redirects``     follows the redirect chain and parses the final response
- ``parser``        parses a response and summarises its content
- ``image``         fetches the preview image
- ``image_size``    reads the dimensions of the preview image from its first bytes
- ``outcome``       archives responses, builds the record, stores and announces it
"""
