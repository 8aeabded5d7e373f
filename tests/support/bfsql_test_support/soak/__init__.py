"""The soak test: `nox -s soak`."""
