"""Tests that several stores run: a class for each subject, inherited by the tests of a store."""
