"""AWSNodeTemplate (and a Provisioner's inline `provider`) to EC2NodeClass.

The kubelet settings of a Provisioner move into the class, so a template becomes one class for each different block.
Source: spec v1 §7.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from karpenter.model.aws.ec2nodeclass import API_VERSION, KIND, RESERVED_TAGS
from karpenter.model.aws.ec2terms import ALIASES
from karpenter.model.aws.nodeclass import AwsNodeClass, SelectorTerm
from karpenter.model.convert.notes import Notebook

_ALIASES: Final = {family: f"{alias}@latest" for alias, family in ALIASES.items()}
_UBUNTU_ROOT: Final = {
    "deviceName": "/dev/sda1",
    "rootVolume": True,
    "ebs": {"encrypted": True, "volumeSize": "20Gi", "volumeType": "gp2"},
}
"""What an Ubuntu node had without `blockDeviceMappings` (API-50 ff. of the old API)."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What a class without an instance profile gets, since there is no default in the settings any more."""

    role: str = ""
    instance_profile: str = ""


def node_class_manifest(
    name: str,
    spec: Mapping[str, Any],
    template: AwsNodeClass,
    *,
    kubelet: Mapping[str, Any] | None,
    profile: Profile,
    notes: Notebook,
) -> dict[str, Any]:
    """Return the EC2NodeClass of a template: `spec` is as written (an inline provider's, too), `template` what it says.

    With `kubelet` for the settings of the Provisioners that use it.
    """
    converted: dict[str, Any] = {
        **_images(template, notes),
        "subnetSelectorTerms": _terms(template.subnet_terms),
        "securityGroupSelectorTerms": _terms(template.security_group_terms),
        **_profile(template, profile, notes),
        **_copied(spec, ("userData", "detailedMonitoring", "context")),
        "metadataOptions": _metadata_options(spec),
    }
    devices = spec.get("blockDeviceMappings")
    if devices:
        converted["blockDeviceMappings"] = devices
    elif template.ami_family == "Ubuntu":
        converted["blockDeviceMappings"] = [_UBUNTU_ROOT]
    tags = _tags(template, notes)
    if tags:
        converted["tags"] = tags
    if kubelet:
        converted["kubelet"] = dict(kubelet)
    if template.launch_template:
        notes.add("refused", "spec.launchTemplate", "launch templates of one's own are gone: say here what is in it")
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": converted}


def _copied(spec: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: spec[name] for name in names if spec.get(name)}


def _terms(terms: Sequence[SelectorTerm]) -> list[dict[str, Any]]:
    entries = ({"tags": dict(term.tags), "id": term.id, "name": term.name, "owner": term.owner} for term in terms)
    return [{name: value for name, value in entry.items() if value} for entry in entries]


def _images(template: AwsNodeClass, notes: Notebook) -> dict[str, Any]:
    family = template.ami_family
    if template.ami_terms:
        notes.add("changes", "spec.amiSelector", "requirements in the tags of an image are not read any more")
        if family == "Ubuntu":
            notes.add("changes", "spec.amiFamily", "Ubuntu boots like AL2, so the family is AL2 from now on")
        return {
            "amiFamily": "AL2" if family == "Ubuntu" else family,
            "amiSelectorTerms": _terms(template.ami_terms),
        }
    alias = _ALIASES.get(family)
    if alias is None:
        fix = "select images with amiSelector first, such as {aws::name: …, aws::owners: …}"
        notes.add("refused", "spec.amiFamily", f"there is no recommended {family} image any more: {fix}")
        return {}
    if family == "AL2":
        notes.add(
            "changes", "spec.amiFamily", "there are no AL2 images from Kubernetes 1.33 on: plan for al2023@latest"
        )
    return {"amiSelectorTerms": [{"alias": alias}]}


def _profile(template: AwsNodeClass, profile: Profile, notes: Notebook) -> dict[str, str]:
    instance_profile = template.instance_profile or profile.instance_profile
    if instance_profile:
        return {"instanceProfile": instance_profile}
    if profile.role:
        return {"role": profile.role}
    fix = "name one with --role or --instance-profile"
    notes.add("refused", "spec.instanceProfile", f"is not set, and there is no default in the settings any more: {fix}")
    return {}


def _metadata_options(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The old defaults, written out where the new ones differ."""
    return {"httpPutResponseHopLimit": 2, **(spec.get("metadataOptions") or {})}


def _tags(template: AwsNodeClass, notes: Notebook) -> dict[str, str]:
    for key in template.tags:
        if RESERVED_TAGS.fullmatch(key):
            notes.add("lost", f"spec.tags[{key}]", "Karpenter sets this tag itself")
    return {key: value for key, value in template.tags.items() if not RESERVED_TAGS.fullmatch(key)}
