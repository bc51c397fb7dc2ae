"""Measurements of the hot paths: CPU seconds, and ratios against a named peer in the same run."""
