"""Throughput, latency and memory of the live service."""
