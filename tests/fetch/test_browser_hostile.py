"""Hostile pages in a real Chromium: what they cannot reach, and what they cost."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from tests.fetch.browsers import Site, browser, fetch, needs_browser, rendered, serving

from scoter.config import Size
from scoter.core.reply import Failed, Reason

pytestmark = needs_browser


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as made:
        yield made


async def test_no_script_reaches_an_address_that_the_guard_refuses(site: Site) -> None:
    places = [
        f"http://127.0.0.1:{site.port}/secret",
        f"http://localhost:{site.port}/secret",
        f"http://[::ffff:127.0.0.1]:{site.port}/secret",
        f"http://2130706433:{site.port}/secret",
        f"http://rebound.example:{site.port}/secret",
        "http://metadata.example/secret",
        "http://169.254.169.254/latest/meta-data/",
        "http://site.example/away",
        "file:///etc/passwd",
    ]
    site.page("/away", "", f"Location: http://127.0.0.1:{site.port}/secret", status="302 Found")
    site.page("/secret", "SECRET", "Access-Control-Allow-Origin: *")
    asking = "".join(f"<script src={place}></script><iframe src={place}></iframe>" for place in places)
    site.page(
        "/",
        f"""<body>{asking}<script>
        const places = {places!r};
        const said = text => document.body.append(text);
        const ask = place => fetch(place).then(r => r.text()).then(t => said('GOT ' + t), e => said('refused '));
        const sockets = new Promise(done => {{
          const s = new WebSocket('ws://127.0.0.1:{site.port}/secret');
          s.onopen = () => {{ said('OPEN'); done(); }};
          s.onerror = s.onclose = done;
        }});
        Promise.all([...places.map(ask), sockets]).then(() => said('all done'));
        navigator.sendBeacon('http://127.0.0.1:{site.port}/secret', 'x');
        </script>""",
    )

    async with browser(site) as protocol:
        text = rendered(await fetch(protocol)).body.decode()

    assert text.count("refused ") == len(places) + 1  # and once in the script itself
    assert "all done</body>" in text
    assert "GOT SECRET" not in text
    assert "OPEN</" not in text
    assert "/secret" not in site.asked


async def test_no_packet_bypasses_the_proxy(site: Site) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
        ear.bind(("127.0.0.1", 0))
        ear.setblocking(False)
        port = ear.getsockname()[1]
        site.page(
            "/",
            f"""<body><script>
            const pc = new RTCPeerConnection({{iceServers: [{{urls: 'stun:127.0.0.1:{port}'}}]}});
            const found = [];
            pc.onicecandidate = e => e.candidate ? found.push(e.candidate.candidate) : document.body.append('ice over');
            pc.createDataChannel('x');
            pc.createOffer().then(o => pc.setLocalDescription(o));
            try {{ new WebTransport('https://127.0.0.1:{port}/'); }} catch (e) {{}}
            </script>""",
        )

        async with browser(site) as protocol:
            rendered(await fetch(protocol))

        with pytest.raises(BlockingIOError):
            ear.recv(2_048)


async def test_endless_script_times_out(site: Site) -> None:
    site.page("/", "<p>before</p><script>for (;;) {}</script>")
    site.page("/later", "<script>onload = () => { for (;;) {} }</script>")
    site.page("/good", "<body><script>document.body.append('fine')</script>")

    async with browser(site) as protocol:
        began = time.monotonic()
        endless, later = await asyncio.gather(fetch(protocol), fetch(protocol, "/later"))
        took = time.monotonic() - began
        good = await fetch(protocol, "/good")

    for reply in (endless, later):
        assert isinstance(reply, Failed)
        assert (reply.reason, reply.blames_host) == (Reason.TIMEOUT, False)
    assert took < 15
    assert b"fine" in rendered(good).body


async def test_a_page_that_never_finishes_loading_is_read_as_it_is(site: Site) -> None:
    script = "let n = 0; setInterval(() => fetch('/data/' + n++), 20); document.body.append('made')"
    site.page("/", f"<body><script>{script}</script>")

    async with browser(site, max_requests=5) as protocol:
        for _ in range(5):  # a request that is left over when a page closes is a matter of luck
            site.asked.clear()
            exchange = rendered(await fetch(protocol))
            assert b"made" in exchange.body
            # Distinct ones: a browser may send a request again if its connection is lost.
            assert len(set(site.asked)) <= 6


async def test_dialogs_downloads_and_windows_are_blocked(site: Site) -> None:
    site.page("/file", "data", "Content-Disposition: attachment")
    site.page(
        "/",
        """<body><a id=a download href=/file>x</a><script>
        alert(1); const said = [confirm(2), prompt(3)];
        document.getElementById('a').click();
        for (let i = 0; i < 20; i++) window.open('/window');
        navigator.geolocation.getCurrentPosition(() => 0, e => document.body.append(' code ' + e.code));
        onbeforeunload = () => 'stay';
        document.body.append('answers: ' + said);
        </script>""",
    )

    async with browser(site) as protocol:
        text = rendered(await fetch(protocol)).body.decode()

    assert "answers: false," in text
    assert " code 1" in text  # permission denied
    assert "/window" not in site.asked


async def test_page_over_the_memory_limit_is_killed_alone(site: Site) -> None:
    site.page(
        "/",
        """<body><script>const kept = []; setInterval(() => {
          for (let i = 0; i < 20; i++) { const a = new Uint8Array(10 << 20); a.fill(i + 1); kept.push(a); }
        }, 10); </script>""",
    )
    site.page("/good", "<body><script>document.body.append('fine')</script>")

    async with browser(site, memory_limit=Size(500 << 20), page_load_delay=timedelta(seconds=15)) as protocol:
        greedy = await fetch(protocol)
        good = await fetch(protocol, "/good")
        started = protocol._chromium.started if protocol._chromium else 0

    assert isinstance(greedy, Failed)
    assert greedy.reason is Reason.TOO_LARGE
    assert b"fine" in rendered(good).body
    assert started == 1


async def test_page_cannot_forge_the_rendered_result(site: Site) -> None:
    site.page(
        "/",
        """<body><p>real</p><script>
        String.prototype.slice = () => 'forged'; XMLSerializer.prototype.serializeToString = () => 'forged';
        Object.defineProperty(Element.prototype, 'outerHTML', {get: () => 'forged'});
        Object.defineProperty(document, 'documentElement', {get: () => null});
        </script>""",
    )

    async with browser(site) as protocol:
        assert b"<p>real</p>" in rendered(await fetch(protocol)).body
