"""The parts that all servers share: address, access, limits, logs, shutdown."""
