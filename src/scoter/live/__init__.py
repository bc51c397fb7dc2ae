"""The live service: URLs come in messages; within seconds each is fetched, read, stored, served and announced.

- ``records``  what comes in, what is known of a URL, what is announced
- ``ports``    what the pipeline asks of its surroundings; each has an embedded twin here and may have a cluster twin
"""
