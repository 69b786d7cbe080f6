"""The crash matrix: processes killed at named steps, and what they claimed held against what the agent did.

`trial` is one death, `scenarios` what is going on when it comes, `judging` what may be said of it afterwards.
A worker (`python -m posthouse.testing.crash`) plays trials one after the other; `bench/crash.py` and the
tests start workers. Nothing here is for production.
"""
