"""Bags: writing, reading, what is in them."""
