"""Launch templates."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from karpenter.model.aws.tags import tag_list
from karpenter.sim.ec2.backend import Backend, Handler, Params, Result, missing_parameter, refuse_dry_run
from karpenter.sim.ec2.codec.messages import AwsError
from karpenter.sim.ec2.filters import Facts, page, select

_LARGEST_USER_DATA: Final = 16384


@dataclass(slots=True)
class Template:
    """One launch template; there is only its first version."""

    id: str
    name: str
    data: Mapping[str, Any]
    created_at: float
    tags: dict[str, str] = field(default_factory=dict)


class Templates:
    """The account's launch templates."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._by_id: dict[str, Template] = {}

    def operations(self) -> Mapping[str, Handler]:
        """Return what it answers."""
        return {
            "ec2:CreateLaunchTemplate": self._create,
            "ec2:DescribeLaunchTemplates": self._describe,
            "ec2:DeleteLaunchTemplate": self._delete,
        }

    def find(self, specification: Params) -> Template:
        """Return the template that an id or a name means. Raises AwsError."""
        identity, name = specification.get("LaunchTemplateId"), specification.get("LaunchTemplateName")
        if identity:
            if identity in self._by_id:
                return self._by_id[identity]
            raise AwsError(
                "InvalidLaunchTemplateId.NotFound",
                f"The specified launch template, with template ID {identity}, does not exist.",
            )
        if not name:
            raise missing_parameter("LaunchTemplateName")
        found = self._named(name)
        if found is None:
            raise AwsError(
                "InvalidLaunchTemplateName.NotFoundException",
                f"The specified launch template, with template name {name}, does not exist.",
            )
        return found

    def tagged(self, template_id: str) -> dict[str, str] | None:
        """Return the tags of a template, to be changed; None when there is none of this id."""
        found = self._by_id.get(template_id)
        return None if found is None else found.tags

    def _named(self, name: str) -> Template | None:
        return next((one for one in self._by_id.values() if one.name == name), None)

    def _create(self, params: Params) -> Result:
        name, data = params["LaunchTemplateName"], params["LaunchTemplateData"]
        _check_user_data(data.get("UserData", ""))
        if self._named(name) is not None:
            raise AwsError("InvalidLaunchTemplateName.AlreadyExistsException", "Launch template name already in use.")
        refuse_dry_run(params)
        template = Template(
            id=self._backend.new_id("lt"),
            name=name,
            data=data,
            created_at=self._backend.clock.now(),
            tags=tags_for(params, "launch-template"),
        )
        self._by_id[template.id] = template
        return {"LaunchTemplate": self._shown(template)}

    def _describe(self, params: Params) -> Result:
        found = list(self._by_id.values())
        if params.get("LaunchTemplateIds"):
            found = [self.find({"LaunchTemplateId": identity}) for identity in params["LaunchTemplateIds"]]
        if params.get("LaunchTemplateNames"):
            found = [self.find({"LaunchTemplateName": name}) for name in params["LaunchTemplateNames"]]
        chosen = select(found, params, _facts, tags=lambda one: one.tags)
        shown, more = page(chosen, params, key="templates", most=200)
        return {"LaunchTemplates": [self._shown(one) for one in shown], **more}

    def _delete(self, params: Params) -> Result:
        template = self.find(params)
        refuse_dry_run(params)
        del self._by_id[template.id]
        return {"LaunchTemplate": self._shown(template)}

    def _shown(self, template: Template) -> Result:
        return {
            "LaunchTemplateId": template.id,
            "LaunchTemplateName": template.name,
            "CreateTime": template.created_at,
            "CreatedBy": self._backend.arn("iam", "user/karpenter", region=""),
            "DefaultVersionNumber": 1,
            "LatestVersionNumber": 1,
            "Tags": tag_list(template.tags),
        }


def tags_for(params: Params, resource: str) -> dict[str, str]:
    """Return the tags that a request gives to one kind of resource that it makes."""
    return {
        tag["Key"]: tag["Value"]
        for specification in params.get("TagSpecifications") or ()
        if specification["ResourceType"] == resource
        for tag in specification.get("Tags") or ()
    }


def _check_user_data(encoded: str) -> None:
    try:
        size = len(base64.b64decode(encoded, validate=True))
    except ValueError as error:
        raise AwsError("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.") from error
    if size > _LARGEST_USER_DATA:
        raise AwsError("InvalidUserData.Malformed", f"User data is limited to {_LARGEST_USER_DATA} bytes")


def _facts(template: Template) -> Facts:
    return {"launch-template-name": (template.name,), "launch-template-id": (template.id,)}
