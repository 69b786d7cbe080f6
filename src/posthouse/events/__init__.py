"""What happens in a process, as it happens: numbered by its place, kept for a while, gone on with by id.

Owns the file, the ids and the readers; processes own what they tell, `web` how it is sent.
"""
