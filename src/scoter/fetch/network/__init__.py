"""Address checks, DNS and proxies.

- ``guard``          which schemes, ports and addresses may be asked
- ``resolver``       host names to addresses, each of them checked
- ``proxy``          the proxy that the settings name
- ``forward_proxy``  our own proxy on loopback, the browser's only way to the network
"""
