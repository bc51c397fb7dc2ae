"""The stores in memory: for tests and trials, and the plainest statement of each port's contract.

- ``stores``    all of them, created together: start here
- ``journal``   accepted messages until they are finished, and the recording of outcomes
- ``metadata``  records by URL
- ``events``    events and their delivery to callbacks
- ``access``    domain rules and API keys
"""
