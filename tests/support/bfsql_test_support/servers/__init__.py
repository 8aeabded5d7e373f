"""Real servers for tests and benchmarks, each in its own process, and a bad endpoint in a thread.

Nothing here needs pytest except `fixtures` and `missing`, which make fixtures of the servers.
"""
