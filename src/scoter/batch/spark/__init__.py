"""Fetching on the executors of a Spark cluster: each fetch list is a task there. docs/engine.md describes it.

- ``leases``       which executor owns each list, and how long those of a killed fetch may; runs in the driver
- ``coordinator``  answers the executors: grants lists, accepts parts, shares what was learned; runs in the driver
- ``pool``         starts the tasks and passes their reports on; runs in the driver
- ``messages``     what driver and executors send to each other
- ``driver_connection``  the connection of an executor to the driver, and its lease
- ``task``         one list on an executor: a local spool, and the worker of ``batch.worker``
"""
