"""The handlers that both HTTP APIs have.

- ``api_keys``  API keys
- ``sessions``  sessions for browsers
- ``status``    metrics, health checks and the OpenAPI document
"""
