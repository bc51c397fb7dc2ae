"""The handlers of the API: each class has the routes of one subject.

- ``messages``  submission of messages
- ``urls``      lookups
- ``fetch``     direct fetches
- ``status``    statistics, metrics, health checks and the OpenAPI document
- ``admin``     domain rules and API keys
"""
