"""What is answered at each path, one module a subject; each brings its lines of the table of routes."""
