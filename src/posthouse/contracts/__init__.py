"""Models and names of data on the wire and on disk; no I/O.

`names` holds every word that belongs to a published protocol. Files that the command line reads
at every start are `msgspec` structures (`manifest`, `registry`, `gateway_files`); what crosses
HTTP is pydantic (`gateway_http`), imported only by processes that serve.
"""
