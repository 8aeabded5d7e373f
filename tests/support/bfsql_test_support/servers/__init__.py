"""Real servers for tests and benchmarks, each in its own process, and a bad endpoint in a thread.

Only `fixtures`, which makes fixtures of the servers, needs pytest.
"""
