"""Questions that others wrote about graphs that others made, answered with the six tools.

`zograscope`, `ck25`, `metaqa` and `ckg` each read one data set: its graph or graphs, its
questions, their right answers (`gold`) and one plan a question. `exam` is ours: its graph is
generated, and its questions are of the kinds that a model was asked about another such graph.
`command` loads the graphs into stores and runs the plans.
None of the data is part of this repository; `docs/explanation/questions.md` names its sources.
"""
