"""The current API generation, `karpenter.sh/v1`: NodePool, read into the hub, and NodeClaim, read and written.

Lives here: what their fields mean, their defaults and their rules (spec v1 §1.3 to §1.5).
Never here: anything that the rest of the program would have to know about this generation.
"""

from karpenter.model.v1.nodeclaim import decode_nodeclaim, encode_nodeclaim
from karpenter.model.v1.nodepool import decode_nodepool, encode_nodepool_status

__all__ = ["decode_nodeclaim", "decode_nodepool", "encode_nodeclaim", "encode_nodepool_status"]
