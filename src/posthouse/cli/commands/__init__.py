"""The bodies of the commands.

A command `name` is two functions: `name(call) -> exit code`, and `name_arguments(parser)` if it takes any.
"""
