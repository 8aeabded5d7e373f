"""Chromium, driven by the tests of the page, and the pictures that the documentation shows."""
