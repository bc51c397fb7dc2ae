"""Nutch's index-writers.xml."""
