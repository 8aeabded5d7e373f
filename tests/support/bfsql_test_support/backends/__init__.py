"""Backends for tests, in memory or in a small file, which differ from others in one respect."""
