"""The stages of the pipeline.

- ``lookup``        answers from the store if a fresh record exists
- ``shared_fetch``  joins a fetch of the same URL that is in progress
- ``requests``      makes each hop once for all redirect chains that need it, and refuses what must not be requested
- ``redirects``     follows the redirect chain and parses the final response
- ``parser``        parses a response and summarises its content
- ``image``         fetches the preview image
- ``image_size``    reads the dimensions of the preview image from its first bytes
- ``outcome``       archives responses, builds the record, stores and announces it
"""
