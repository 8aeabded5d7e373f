"""Expected answers, computed in ways that have nothing in common with the engine."""
