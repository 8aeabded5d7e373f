"""Questions about made-up research worlds, answered with three sets of tools side by side.

A world is generated from a size and a random seed (`worlds`). A kind of question (`kinds`) draws
names from it and computes the answer with networkx. Each kind has the shortest plan that a careful
client can follow from names alone, for our tools, for Cypher and for SPARQL. `suite` runs the plans
against real stores and counts; `chat` replaces the plans with a model, whose answer to one question
is a `conversation`.
"""
