"""Columns and Qt models that turn results of queries into table rows."""
