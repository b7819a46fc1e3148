"""The server's own certificate authority, and the token that lets kubectl in."""

from __future__ import annotations

import os
import secrets
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from karpenter.model.units import UnixSeconds

_LIFE: Final = timedelta(days=3650)
_BACKDATED: Final = timedelta(days=1)
_NAMES: Final = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
_ADDRESSES: Final = ("127.0.0.1", "::1", "10.96.0.1")


@dataclass(frozen=True, slots=True)
class Identity:
    """What a server shows, and what its clients need: all in PEM, the token as text."""

    authority: bytes
    certificate: bytes
    key: bytes
    token: str

    def tls(self) -> ssl.SSLContext:
        """Return the server's side of TLS."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["http/1.1"])
        with _as_file(self.certificate + self.key) as chain:
            context.load_cert_chain(chain)
        return context


def load_identity(folder: Path | None, *, host: str, now: UnixSeconds) -> Identity:
    """Return the identity kept in a folder, made and kept there at first; without a folder, a new one."""
    if folder is None:
        return _make(host, now)
    files = {name: folder / name for name in ("ca.crt", "server.crt", "server.key", "token")}
    if not all(path.exists() for path in files.values()):
        made = _make(host, now)
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in (
            ("ca.crt", made.authority),
            ("server.crt", made.certificate),
            ("server.key", made.key),
            ("token", made.token.encode()),
        ):
            _write_private(files[name], data)
        return made
    kept = {name: path.read_bytes() for name, path in files.items()}
    return Identity(kept["ca.crt"], kept["server.crt"], kept["server.key"], kept["token"].decode().strip())


def _make(host: str, now: UnixSeconds) -> Identity:
    moment = datetime.fromtimestamp(now, tz=UTC)
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = _name("pykarpenter-ca")
    authority = (
        _builder(issuer, issuer, key=authority_key.public_key(), moment=moment)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    certificate = (
        _builder(_name("pykarpenter-apiserver"), issuer, key=key.public_key(), moment=moment)
        .add_extension(x509.SubjectAlternativeName(_alternatives(host)), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    return Identity(
        authority.public_bytes(serialization.Encoding.PEM),
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
        secrets.token_urlsafe(24),
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(
    subject: x509.Name, issuer: x509.Name, *, key: ec.EllipticCurvePublicKey, moment: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(moment - _BACKDATED)
        .not_valid_after(moment + _LIFE)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _alternatives(host: str) -> list[x509.GeneralName]:
    names, addresses = set(_NAMES), set(_ADDRESSES)
    try:
        ip_address(host)
    except ValueError:
        names.add(host)
    else:
        addresses.add(host)
    return [
        *(x509.DNSName(name) for name in sorted(names)),
        *(x509.IPAddress(ip_address(address)) for address in sorted(addresses)),
    ]


def _write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    draft = path.with_suffix(".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(data)
    draft.replace(path)


@contextmanager
def _as_file(data: bytes) -> Iterator[Path]:
    # The ssl module reads keys from files only.
    with TemporaryDirectory() as folder:
        path = Path(folder) / "chain.pem"
        _write_private(path, data)
        yield path
