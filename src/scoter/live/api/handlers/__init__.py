"""The handlers of the API: each function has one route.

- ``messages``    submission of messages
- ``urls``        lookups
- ``preview``     previews in one call
- ``fetch``       direct fetches
- ``events``      event streams
- ``status``      statistics, metrics, health checks and the OpenAPI document
- ``sessions``    sessions for browsers
- ``deliveries``  webhook deliveries
- ``admin``       domain rules and API keys
"""
