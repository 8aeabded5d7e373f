"""Writing a graph into a store that speaks Gremlin."""
