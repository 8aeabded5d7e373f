"""The sizes and times at which the engine changes its way of working, with their reasons.

Times were measured on one core of a server's processor.
"""

RING_SHARE = 0.7
"""Share of the remaining time that a ring may take; the types are read after it."""
AT_ONCE = 0.1
"""Seconds within which a ring that names the types of its ends saves the look-up of the seeds."""

FEW_STARTS = 16
"""Largest number of nodes from which walks begin although their end may be a smaller set.

To list a set is one more request to a server. From 93 areas with 14,196 postcodes to the one
postcode of a code, walks take 117 ms from the areas and 4 ms from the postcode.
"""
ENDS_A_START = 16
"""Largest number of nodes of the set at the end of walks, for each node from which they begin.

From 1,000 officers to 3,421 of 28,762 crimes, walks take 310 ms if the properties of all crimes are
read, and 14 ms if the store selects those crimes.
"""

FEW_EDGES = 256
"""Largest number of edges that are sorted as strings, and not by the numbers of their ends.

Of 10 edges, which take 20 us as strings, numbers take 200 us, a quarter of a small answer. Of
100,000 edges, strings take 0.4 s, and numbers 0.2 s.
"""
PLACED = 4_096
"""Number of nodes, counted from the first of a page, whose edges are found at once.

Each search visits all edges of an answer; a budget first tries a few nodes, and then doubles them.
"""

EDGE_BYTES = 32
"""Bytes that a call takes for each edge that it reads: 12 in columns, and as much again twice while
they are joined and sorted."""
ARC_BYTES = 80
"""Bytes that a path takes for each edge of each step: its ends and direction, its places at two
junctions, and the numbers of walks that lead to it and on from it."""
JUNCTION_BYTES = 64
"""Bytes for each edge of two steps while it is determined which edges meet."""
NODE_BYTES = 32
"""Bytes for each node of a set: its handle and its type, and the same again while it is sorted."""
PAIR_BYTES = 100
"""Bytes for each pair of nodes or edges of two steps."""
VALUE_BYTES = 200
"""Bytes for each node whose property is sorted, and for each different value that is counted or
measured."""

MANY_NODES = 2_000
"""Number of nodes from which their properties are read from a store's columns, if it has some.

Of 100,000 nodes, a property takes 40 ms from the column and 500 ms from the records; of ten nodes,
which take 0.1 ms from the records, the column takes 0.4 ms.
"""
PART = 8_000
"""Number of nodes or edges whose properties are read at once; the event loop is blocked for up to
50 ms while the records of so many edges are looked up."""
MOST_VALUES = 100_000
"""Number of different values of a property whose comparisons are remembered."""

PAIRS = 4_000_000
"""The approximate number of pairs of nodes on two sides of a junction that are made at once."""
MOST_PAIRS = 10_000_000
"""The number of pairs of a shown node and another node or edge that a measure may make.

Making and adding them takes about two seconds.
"""
BUSY = 100_000
"""A node of a junction through which more pairs lead is busy.

Between 1,000 nodes on each side of a hub, making all pairs takes 2.1 s; sharing what is found
behind the busy hub takes 0.002 s.
"""
PAIRS_AT_ONCE = 65_536
"""Number of pairs of nodes for which an expression is computed at once."""
