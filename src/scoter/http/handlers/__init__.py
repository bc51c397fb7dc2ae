"""Handlers that both HTTP APIs have."""
