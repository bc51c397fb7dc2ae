"""What people type: one module a command, each thin, each slow to import anything.

``main`` holds the table of commands and turns errors into exit codes; ``invocation`` holds the options that every
command takes before and after its name; ``output`` prints rows for people and for programs.
"""
