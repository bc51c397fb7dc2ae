"""Nutch's command lines."""
