"""How `scoter parsechecker` looks at one document.

``getting`` fetches it or reads it from a file, ``examining`` parses it and says why everything came out as it did,
``showing`` tells that to people, ``objects`` to programs, ``lines`` keeps what a page says from doing anything to a
terminal.
"""
