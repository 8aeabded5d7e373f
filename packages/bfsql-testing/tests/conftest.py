"""Tests inside of the data are data."""

collect_ignore = ["data"]
