"""Machine images, and the SSM parameters that name the recommended ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from karpenter.model.aws.catalog import Image
from karpenter.model.aws.tags import tag_list
from karpenter.sim.ec2.backend import ACCOUNT_ID, Backend, Handler, Params, Result
from karpenter.sim.ec2.codec.messages import AwsError
from karpenter.sim.ec2.filters import Facts, by_ids, page, select

_ARCHITECTURES: Final = {"amd64": "x86_64", "arm64": "arm64"}
_PARAMETERS_AT_ONCE: Final = 10


class Images:
    """The images that are out: of each kind the generations that the market has released."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def operations(self) -> Mapping[str, Handler]:
        """Return what it answers."""
        return {
            "ec2:DescribeImages": self._describe,
            "ssm:GetParameter": self._get_parameter,
            "ssm:GetParameters": self._get_parameters,
        }

    def image(self, image_id: str) -> Image:
        """Return an image that is out. Raises AwsError."""
        return by_ids(self._out(), [image_id], code="InvalidAMIID.NotFound", what="image")[0]

    def _out(self) -> dict[str, Image]:
        generation = self._backend.market.image_generation
        return {image.id: image for image in self._backend.catalog.images if image.generation <= generation}

    def _describe(self, params: Params) -> Result:
        found = by_ids(self._out(), params.get("ImageIds"), code="InvalidAMIID.NotFound", what="image")
        owners = params.get("Owners")
        found = [image for image in found if not owners or _is_owned(image, owners)]
        chosen = select(found, params, _facts, tags=_tags)
        shown, more = page(chosen, params, key="images")
        return {"Images": [_image(image) for image in shown], **more}

    def _get_parameter(self, params: Params) -> Result:
        found = self._parameter(params["Name"])
        if found is None:
            raise AwsError("ParameterNotFound", f"there is no parameter {params['Name']}")
        return {"Parameter": found}

    def _get_parameters(self, params: Params) -> Result:
        names: Sequence[str] = params["Names"]
        if len(names) > _PARAMETERS_AT_ONCE:
            raise AwsError("ValidationException", f"at most {_PARAMETERS_AT_ONCE} names at once, got {len(names)}")
        found = {name: self._parameter(name) for name in names}
        return {
            "Parameters": [one for one in found.values() if one is not None],
            "InvalidParameters": [name for name, one in found.items() if one is None],
        }

    def _parameter(self, name: str) -> Result | None:
        out = self._out().values()
        named = [image for image in out if name in {image.ssm, image.ssm_pinned}]
        if not named:
            return None
        image = max(named, key=lambda one: one.generation)
        return {
            "Name": name,
            "Type": "String",
            "Value": image.id,
            "Version": image.generation,
            "LastModifiedDate": datetime.fromisoformat(image.created).timestamp(),
            "ARN": f"arn:aws:ssm:{self._backend.region}::parameter{name}",
            "DataType": "aws:ec2:image",
        }


def _is_owned(image: Image, owners: Sequence[str]) -> bool:
    # Custom images of the account are not simulated: with "self" one finds what others publish, by tag.
    return any(owner in {image.owner, image.owner_alias} for owner in owners)


def _tags(image: Image) -> Mapping[str, str]:
    return {"Name": image.name}


def _facts(image: Image) -> Facts:
    return {
        "image-id": (image.id,),
        "name": (image.name,),
        "architecture": (_ARCHITECTURES[image.arch],),
        "state": ("available",),
        "owner-id": (image.owner,),
        "owner-alias": (image.owner_alias,),
        "image-type": ("machine",),
        "is-public": ("true",),
        "root-device-name": (image.root_device,),
        "root-device-type": ("ebs",),
        "virtualization-type": ("hvm",),
    }


def _image(image: Image) -> Result:
    return {
        "ImageId": image.id,
        "Name": image.name,
        "Description": f"{image.family} {image.variant}, release {image.release} (simulated)",
        "Architecture": _ARCHITECTURES[image.arch],
        "CreationDate": image.created,
        "State": "available",
        "OwnerId": image.owner,
        "ImageOwnerAlias": image.owner_alias or None,
        "ImageType": "machine",
        "Public": image.owner != ACCOUNT_ID,
        "Hypervisor": "xen",
        "VirtualizationType": "hvm",
        "RootDeviceName": image.root_device,
        "RootDeviceType": "ebs",
        "EnaSupport": True,
        "PlatformDetails": "Linux/UNIX",
        "Tags": tag_list(_tags(image)),
    }
