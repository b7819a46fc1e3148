"""The keys, certificates and tokens of a control plane: two authorities, who they vouch for, and who may do what."""

import base64
import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SERVER_NAMES = ("localhost", "kubernetes.default.svc", "metrics-server.kube-system.svc")
LIFETIME = timedelta(days=1)


@dataclass(frozen=True)
class User:
    """Somebody the API server knows by a bearer token."""

    name: str
    groups: tuple[str, ...] = ()

    @property
    def token(self) -> str:
        return f"token-of-{self.name.replace(':', '-')}"


ADMIN = User("kubernetes-admin", ("system:masters",))
SCHEDULER = User("system:kube-scheduler")
CONTROLLER_MANAGER = User("system:kube-controller-manager")
NOBODY = User("nobody")
"""May do nothing but what everyone may."""
USERS = (ADMIN, SCHEDULER, CONTROLLER_MANAGER, NOBODY)


@dataclass(frozen=True)
class Pair:
    """A key and its certificate, in memory and as files in PEM."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    folder: Path
    name: str

    @property
    def key_file(self) -> Path:
        return self.folder / f"{self.name}.key"

    @property
    def certificate_file(self) -> Path:
        return self.folder / f"{self.name}.crt"

    @property
    def certificate_base64(self) -> str:
        """The certificate as manifests carry it: PEM in base64."""
        return base64.b64encode(self.certificate_file.read_bytes()).decode()

    def write(self) -> "Pair":
        self.key_file.write_bytes(private_pem(self.key))
        self.certificate_file.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))
        return self


@dataclass(frozen=True)
class Pki:
    """Everything that the programs of one control plane are given to trust each other."""

    authority: Pair
    front_proxy_authority: Pair
    server: Pair
    """Serves the API, metrics and the kubelets that kwok pretends to be."""
    admin: Pair
    """A client certificate with all rights."""
    kubelet_client: Pair
    front_proxy_client: Pair
    service_account_key: Path
    service_account_public_key: Path
    tokens: Path


def write_pki(folder: Path) -> Pki:
    """Make all keys and certificates of a new control plane and write them into `folder`."""
    folder.mkdir(parents=True)
    authority = an_authority(folder, "ca")
    front = an_authority(folder, "front-proxy-ca")
    service_account = ec.generate_private_key(ec.SECP256R1())
    service_account_key = folder / "service-account.key"
    service_account_key.write_bytes(private_pem(service_account))
    service_account_public_key = folder / "service-account.pub"
    service_account_public_key.write_bytes(
        service_account.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    tokens = folder / "tokens.csv"
    tokens.write_text("".join(token_line(user) for user in USERS), encoding="utf-8")
    return Pki(
        authority=authority,
        front_proxy_authority=front,
        server=a_server_certificate(authority),
        admin=a_client_certificate(authority, ADMIN),
        kubelet_client=a_client_certificate(authority, User("kube-apiserver-kubelet-client", ("system:masters",))),
        front_proxy_client=a_client_certificate(front, User("front-proxy-client")),
        service_account_key=service_account_key,
        service_account_public_key=service_account_public_key,
        tokens=tokens,
    )


def token_line(user: User) -> str:
    groups = f',"{",".join(user.groups)}"' if user.groups else ""  # after a uid that nobody has
    return f"{user.token},{user.name},{groups}\n"


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def an_authority(folder: Path, name: str) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = a_certificate(subject, key).issuer_name(subject)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    builder = builder.add_extension(key_usage(signs_certificates=True), critical=True)
    return Pair(key, builder.sign(key, hashes.SHA256()), folder, name).write()


def a_server_certificate(authority: Pair) -> Pair:
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in SERVER_NAMES]
    names.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    usage = ExtendedKeyUsageOID.SERVER_AUTH
    return a_leaf(authority, User("server"), usage=usage, names=x509.SubjectAlternativeName(names))


def a_client_certificate(authority: Pair, user: User) -> Pair:
    return a_leaf(authority, user, usage=ExtendedKeyUsageOID.CLIENT_AUTH)


def a_leaf(
    authority: Pair, user: User, *, usage: x509.ObjectIdentifier, names: x509.SubjectAlternativeName | None = None
) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, user.name)]
    attributes += [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in user.groups]
    builder = a_certificate(x509.Name(attributes), key).issuer_name(authority.certificate.subject)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(key_usage(signs_certificates=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    builder = builder.add_extension(signer, critical=False)
    if names is not None:
        builder = builder.add_extension(names, critical=False)
    return Pair(key, builder.sign(authority.key, hashes.SHA256()), authority.folder, user.name).write()


def a_certificate(subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
