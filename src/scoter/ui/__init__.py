"""The web interface: static files that use the HTTP APIs, for ``scoter ui`` and ``scoter serve`` alike.

- ``files``    serves the files with a strict Content-Security-Policy
- ``static/``  the interface itself: JavaScript modules, one style sheet, no third-party code and no build step
"""
