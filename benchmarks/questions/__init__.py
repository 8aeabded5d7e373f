"""Questions about made-up research worlds, answered with three sets of tools side by side.

A world is generated from a size and a random seed (`worlds`). A kind of question (`kinds`) draws
names from it and computes the answer with networkx. For each kind there is the shortest plan that
a careful client can follow from names alone: in our tools, in Cypher and in SPARQL. `suite` runs
the plans against real stores and counts; `chat` puts a model in the place of the plans.
"""
