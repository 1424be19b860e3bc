"""A model of each sensor."""
