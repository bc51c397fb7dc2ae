"""The HTTP API of the live service."""
