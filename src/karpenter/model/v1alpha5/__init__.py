"""The first API generation: `karpenter.sh/v1alpha5` Provisioner, decoded into the hub's NodePool.

Lives here: what a Provisioner's fields mean, their defaults and their rules (spec v1alpha5 §1).
Never here: anything that the rest of the program would have to know about this generation.
"""

from karpenter.model.v1alpha5.defaults import default_provisioner
from karpenter.model.v1alpha5.hashes import provisioner_hash
from karpenter.model.v1alpha5.provisioner import (
    API_VERSION,
    KIND,
    Mode,
    decode_provisioner,
    encode_provisioner_status,
)

__all__ = [
    "API_VERSION",
    "KIND",
    "Mode",
    "decode_provisioner",
    "default_provisioner",
    "encode_provisioner_status",
    "provisioner_hash",
]
