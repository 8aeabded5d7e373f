"""A small graph of films and people, to try the six tools on."""
