"""Address checks, DNS and proxies.

- ``guard``          which schemes, ports and addresses may be requested
- ``allowed_hosts``  hosts that are exempt from the guard at one port
- ``resolver``       resolves host names to addresses, and checks each of them
- ``proxy``          the configured proxy
- ``forward_proxy``  Scoter's own proxy on loopback, the browser's only way to the network
"""
