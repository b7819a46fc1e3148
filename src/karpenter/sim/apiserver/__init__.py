"""The HTTP face of the in-memory API, so that the stock kubectl works against the embedded cluster.

Here: paths, bodies, discovery, OpenAPI, tables, watches over HTTPS. Never: what requests mean; that is
`runtime.kubememory`.
"""

from karpenter.sim.apiserver.server import ApiServer, ApiServerError

__all__ = ["ApiServer", "ApiServerError"]
