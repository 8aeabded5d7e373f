"""Faulty backends, each with one mistake that real authors make."""

from bfsql_test_support.gallery.bases import Eight, Store, Wrong, trial
from bfsql_test_support.gallery.table import GALLERY

__all__ = ["GALLERY", "Eight", "Store", "Wrong", "trial"]
