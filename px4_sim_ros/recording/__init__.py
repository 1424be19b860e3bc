"""Bags: writing, reading, comparing and telling what happened in a flight."""
