"""A configuration of Nutch."""
