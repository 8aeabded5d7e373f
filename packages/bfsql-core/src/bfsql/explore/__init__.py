"""A page for people in front of the web API, and the tool calls that it can replay."""
