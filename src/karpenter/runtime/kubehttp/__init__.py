"""The client of a real API server, over HTTP.

Here: finding and reading connection settings, credentials, TLS, requests with retries, decoding, watches. Never: what
is done with the objects. Nothing but `KubeError` leaves this package.
"""

from karpenter.runtime.kubehttp.client import HttpKubeClient
from karpenter.runtime.kubehttp.connection import Connection
from karpenter.runtime.kubehttp.finding import find_connection

__all__ = ["Connection", "HttpKubeClient", "find_connection"]
