"""How `scoter parsechecker` examines one document.

``document`` fetches it or reads it from a file, ``examination`` parses it and finds out why, ``report`` describes the
result to people, ``layout`` formats lines for a terminal. ``examination`` also has the result as a JSON object.
"""
