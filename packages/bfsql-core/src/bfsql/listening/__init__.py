"""What every server over HTTP needs, whichever protocol it speaks: address, token, log, stopping.

run.over_http(graph_factory, settings, "bfsql.server.http")
"""
