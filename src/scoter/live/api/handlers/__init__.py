"""The handlers of the API: each function has one route.

- ``messages``    submission of messages
- ``urls``        lookups
- ``preview``     previews in one call
- ``fetch``       direct fetches
- ``events``      event streams
- ``statistics``  statistics and activity
- ``deliveries``  webhook deliveries
- ``domains``     domain rules
"""
