"""The first API generation: `karpenter.sh/v1alpha5` Provisioner, decoded into the hub's NodePool.

Lives here: what a Provisioner's fields mean, their defaults and their rules (spec v1alpha5 §1).
Never here: anything that the rest of the program would have to know about this generation.
"""

from karpenter.model.v1alpha5.defaults import default_provisioner as default_provisioner
from karpenter.model.v1alpha5.hashes import provisioner_hash as provisioner_hash
from karpenter.model.v1alpha5.provisioner import API_VERSION as API_VERSION
from karpenter.model.v1alpha5.provisioner import KIND as KIND
from karpenter.model.v1alpha5.provisioner import Mode as Mode
from karpenter.model.v1alpha5.provisioner import decode_provisioner as decode_provisioner
from karpenter.model.v1alpha5.provisioner import encode_provisioner_status as encode_provisioner_status
