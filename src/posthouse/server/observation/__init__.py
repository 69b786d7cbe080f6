"""State of each agent: summary, detail and a coarse history, in the same shapes with and without a gateway.

Owns the observation of TUIs without a gateway, which ends some time after the last request.
"""
