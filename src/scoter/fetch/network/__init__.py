"""What may be reached, and how: addresses judged, names resolved, proxies.

- ``guard``       which schemes, ports and addresses may be asked
- ``resolve``, ``resolve_dns``  names to addresses, each of them judged
- ``proxy``       the proxy that the settings name
- ``forward``     a proxy of our own, through which the browser must go
"""
