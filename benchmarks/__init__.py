"""Benchmarks of the hot paths: CPU seconds, and ratios to a named peer in the same run."""
