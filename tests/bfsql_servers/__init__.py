"""Real servers for tests and benchmarks, each a process of its own, and a bad endpoint in a thread.

Nothing here needs pytest, but for `fixtures` and `missing`, which make fixtures of the servers.
"""
