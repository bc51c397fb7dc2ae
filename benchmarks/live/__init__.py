"""What the live service does a second, how long each step takes it, and how much memory it needs."""
