"""The small languages of a call's arguments: one grammar, read in one place.

Conditions, facets, measures and sort keys name `properties`; `steps` are arrows, names and brackets
as they are written; `patterns` are what these mean in a graph, whose names are its `vocabulary`.
"""
