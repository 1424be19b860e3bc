"""Entry points: what a user starts."""
