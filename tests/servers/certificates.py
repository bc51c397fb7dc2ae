"""Certificates for servers on loopback: a certificate authority, and a server that it vouches for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

STORE_PASSWORD = "changeit"


def make_certificates(folder: Path) -> None:
    """Write ``ca.pem``, ``server.pem`` (key and certificate), ``server.p12``, and another authority's ``other.pem``."""
    folder.mkdir(parents=True, exist_ok=True)
    authority_key, authority = _signed("Scoter tests", None)
    _, other = _signed("Somebody else", None)
    key, server = _signed("localhost", (authority_key, authority))
    (folder / "ca.pem").write_bytes(authority.public_bytes(Encoding.PEM))
    (folder / "other.pem").write_bytes(other.public_bytes(Encoding.PEM))
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    chain = server.public_bytes(Encoding.PEM) + authority.public_bytes(Encoding.PEM)
    (folder / "server.pem").write_bytes(private + chain)
    packed = pkcs12.serialize_key_and_certificates(
        b"server", key, server, [authority], BestAvailableEncryption(STORE_PASSWORD.encode())
    )
    (folder / "server.p12").write_bytes(packed)


def _signed(
    name: str, issuer: tuple[ec.EllipticCurvePrivateKey, x509.Certificate] | None
) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    """Return a key and its certificate, signed by an issuer or by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer[1].subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=30))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(names, critical=False)
    )
    return key, builder.sign(key if issuer is None else issuer[0], hashes.SHA256())
