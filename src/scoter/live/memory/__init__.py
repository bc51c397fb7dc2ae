"""The live service's stores in memory: for tests and trials, and the plainest statement of what each port promises.

- ``stores``   all of them, made together: start here
- ``journal``  accepted messages until they are done, and the ledger that ends them
- ``records``  what is known of URLs
- ``announcing``  events and deliveries
- ``access``   rules of domains; API keys, with their record and their secrets
- ``turns``    who is next in a journal
"""
