"""Rows measured elsewhere: read, checked against a documented schema, and kept as a table."""
