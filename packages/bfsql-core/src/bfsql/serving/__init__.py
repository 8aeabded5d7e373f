"""What every server needs, whichever protocol it speaks: address, access, limits, logs, the end."""
