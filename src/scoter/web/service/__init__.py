"""The live service as processes: ``scoter serve``.

- ``plan``        what every process is told, and where the service keeps what
- ``supervisor``  starts the others, starts again what dies, ends all
- ``door``        the public port
- ``core``        the core process: pipeline, stores, and the whole API on a Unix socket
- ``parts``       how the core is put together; ``figures`` what it shows of itself; ``upkeep`` what it clears away
- ``intake``      what stands before acceptance, and what a new rule must reach
- ``lookups``     the processes on the public port: they look up, and pass everything else on to the core
- ``joining``     how a process is told its plan, says that it is ready, and hears that it must end
- ``keys``        API keys, made while no service runs

Whatever is killed comes again, and nothing that was accepted is lost: it is in the journal until its outcome is.
"""
