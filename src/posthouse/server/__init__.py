"""The coordination server: every agent of one registry behind one HTTP API.

Owns discovery, the state of agents without a gateway, headless launches and turn records. Each agent's
gateway stays the authority for what it runs.
"""
