"""What tests try the six tools with: drawn graphs, backends to watch, checked answers."""
