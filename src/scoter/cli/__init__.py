"""The command line.

``main`` holds the table of commands, imports a command's module when it is used, and turns errors into exit codes.
``invocation`` holds the options that several commands share, ``session`` opens a crawl directory for a command,
``files`` reads input, ``output`` and ``results`` print. Every other module implements one command or a few related
ones; ``COMMANDS`` in ``main`` says which.
"""
