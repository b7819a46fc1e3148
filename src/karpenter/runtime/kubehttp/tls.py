"""TLS contexts: whom we believe, and the certificate that we show."""

from __future__ import annotations

import os
import ssl
import tempfile

from karpenter.runtime.kubehttp.connection import Connection, ConnectionSettingsError
from karpenter.runtime.kubehttp.credentials import Credential


def tls_context(connection: Connection, credential: Credential) -> ssl.SSLContext:
    """Return a context that believes the cluster's authorities and shows the credential's certificate, if it has one.

    Raises:
        ConnectionSettingsError: a certificate or key is not what it should be.
    """
    tls = connection.tls
    try:
        context = ssl.create_default_context(cadata=tls.authorities.decode() or None)
    except (ssl.SSLError, UnicodeDecodeError, ValueError) as error:
        raise ConnectionSettingsError(f"{connection.origin}: certificate-authority holds no PEM certificate") from error
    # Python 3.13 began to refuse authorities without a key identifier, such as those of clusters made by older tools.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if tls.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if credential.certificate:
        try:
            _show(context, credential)
        except ssl.SSLError as error:
            raise ConnectionSettingsError(
                f"{connection.origin}: client-certificate and client-key do not fit together: {error.reason}"
            ) from error
    return context


def _show(context: ssl.SSLContext, credential: Credential) -> None:
    # The ssl module reads keys from files only; this one is ours alone and gone before anything else happens.
    descriptor, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(credential.certificate.rstrip() + b"\n" + credential.key)
        context.load_cert_chain(name)
    finally:
        os.unlink(name)
