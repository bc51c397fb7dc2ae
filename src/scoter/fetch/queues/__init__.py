"""Whose turn it is: hosts, their items, their delays, and who waits.

- ``policy``, ``hostqueue``, ``turns``, ``turn``  how one host is treated, and what became of its turn
- ``workbench``   all hosts; told the time, it waits for nothing
- ``turnstile``   the workbench on an event loop
- ``feeder``, ``spill``   from a source to the workbench, within bounds, fairly among hosts
- ``keys``, ``lookups``   which queue a URL stands in, and who waits to learn it
- ``budget``, ``watch``   how many retries, and whether to go on at all
"""
