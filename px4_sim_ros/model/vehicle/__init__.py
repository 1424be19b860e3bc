"""Vehicle files: what they hold, and what follows from it."""
