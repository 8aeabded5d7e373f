"""RDF files in process: reading them, and the two engines that answer over them."""
