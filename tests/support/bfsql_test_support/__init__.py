"""What the tests and the benchmarks of this repository share; never published.

`servers` starts real ones, `suites` are tests that every store inherits, `gallery` has faulty
backends for the tests of the conformance kit, `questions` is the suite of questions.
"""
