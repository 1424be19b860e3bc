"""Sensor models: each turns the true motion at a time into one measurement."""
