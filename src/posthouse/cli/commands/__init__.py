"""The bodies of the commands.

A command called `name` in a module here is two functions: `name(call) -> exit code`, and
`name_arguments(parser)` where it takes any.
"""
