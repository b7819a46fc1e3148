"""Node classes of every AWS API generation: one way in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karpenter.model.aws.ec2nodeclass import decode_ec2_node_class
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.aws.nodetemplate import decode_aws_node_template, inline_node_class
from karpenter.model.errors import FieldError, ManifestError

__all__ = ["decode_aws_node_template", "decode_ec2_node_class", "decode_node_class", "inline_node_class"]

_KINDS: Final = ("karpenter.k8s.aws/v1alpha1 AWSNodeTemplate", "karpenter.k8s.aws/v1 EC2NodeClass")


def decode_node_class(raw: object, *, ca_bundle: str = "") -> AwsNodeClass:
    """Return the node class that an AWSNodeTemplate or an EC2NodeClass describes; see `decode_ec2_node_class`.

    Raises:
        ManifestError: every rule the manifest breaks; or it is neither of the two.
    """
    fields = raw if isinstance(raw, Mapping) else {}
    match f"{fields.get('apiVersion')} {fields.get('kind')}":
        case "karpenter.k8s.aws/v1alpha1 AWSNodeTemplate":
            return decode_aws_node_template(raw)
        case "karpenter.k8s.aws/v1 EC2NodeClass":
            return decode_ec2_node_class(raw, ca_bundle=ca_bundle)
        case other:
            fault = FieldError("kind", f"{other} is no node class", f"one of {', '.join(_KINDS)}")
            raise ManifestError("object", (fault,))
