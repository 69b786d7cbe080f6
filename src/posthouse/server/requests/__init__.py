"""What agents are asked to do, and to stop doing, whatever their transport.

Owns the choice of the way: an agent's gateway where one lives, the agent itself where none does.
"""
