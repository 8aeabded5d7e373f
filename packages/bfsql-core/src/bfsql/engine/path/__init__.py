"""Paths: the walks that a call asks for, from reading their edges to the pages of the answer."""
