"""The processes of ``scoter serve``.

- ``supervisor``       starts the processes, restarts those that die or hang, stops them all
- ``plan``             the settings of every process, and the files of a service
- ``process``          how a process gets its plan, reports that it is ready and alive, and stops
- ``core``             the core process: pipeline, stores, and the whole API on a Unix socket
- ``components``       assembles the core, and its metrics
- ``cleanup``          what the core removes over time
- ``lookup_process``   the processes on the public port: they answer lookups and forward the rest to the core
- ``metrics_channel``  how they report their metrics to the core
- ``api_keys``         manages API keys through the service's directory
- ``roles/``           the processes of a service on several machines

A killed process is restarted, and no accepted message is lost: it stays in the journal until its outcome is stored.
"""
