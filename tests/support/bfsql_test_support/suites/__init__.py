"""Tests that every store runs: a class for each subject, inherited by the tests of a store."""
