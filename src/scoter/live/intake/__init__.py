"""How messages are taken: what is checked before, and what the journal decides."""
