"""Launch templates: one per distinct content, made when a launch needs it, deleted when none does.

Source: spec v1 A-39, A-3; spec v1alpha5 AWS-49, AWS-55, AWS-57.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from karpenter.aws.errors import error_code
from karpenter.aws.resolved import Ami, MachineOrder, Template
from karpenter.aws.session import AwsSession, collect
from karpenter.aws.templatecontent import Content, Recipe, minds_reservations, template_content
from karpenter.cloud.errors import CloudError, LaunchError
from karpenter.model import labels
from karpenter.model.aws.cluster import ClusterFacts
from karpenter.model.aws.tags import NODE_CLASS, TEMPLATES_OF, launch_tags, tag_list
from karpenter.model.aws.userdata import LARGEST_BYTES, UserDataError, bootstrap_of, render_user_data
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.resources import PODS
from karpenter.model.units import UnixSeconds
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock

log = logs.get("aws.launchtemplates")

UNUSED_S: Final = 60.0
"""How long after its last use a template is deleted (A-39)."""
EFA: Final = "vpc.amazonaws.com/efa"
_PREFIX: Final = f"{labels.AWS_GROUP}/"
_WARN_BYTES: Final = LARGEST_BYTES * 9 // 10
_GONE: Final = frozenset({"InvalidLaunchTemplateName.NotFoundException", "InvalidLaunchTemplateId.NotFound"})
_THERE: Final = "InvalidLaunchTemplateName.AlreadyExistsException"

Option = tuple[InstanceType, Offering]


@dataclass(slots=True)
class _Known:
    """A template that exists, or is being made while the lock is held."""

    used_at: UnixSeconds
    exists: bool = False
    making: asyncio.Lock = field(default_factory=asyncio.Lock)


class LaunchTemplates:
    """Makes and deletes the launch templates of one cluster."""

    def __init__(
        self,
        aws: AwsSession,
        clock: Clock,
        *,
        cluster: Callable[[], ClusterFacts],
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """`tags` are those of the settings, for everything that is launched."""
        self._aws = aws
        self._clock = clock
        self._cluster = cluster
        self._tags = tags or {}
        self._known: dict[str, _Known] = {}

    async def launch_templates(self, order: MachineOrder) -> Sequence[Template]:
        """Return templates that serve the order's options; see `TemplateSource`."""
        own = order.resolved.node_class.launch_template
        if own:
            return (Template(own, "", order.options),)
        contents: dict[str, Content] = {}
        served: dict[str, list[Option]] = {}
        images: dict[str, str] = {}
        for (ami, pods, efas, reservation), options in self._groups(order).items():
            content = self.content(order, ami, pods=pods, efas=efas, reservation_id=reservation)
            name = template_name(content)
            contents[name], images[name] = content, ami.id
            served.setdefault(name, []).extend(options)
        await asyncio.gather(*(self._ensure(name, content, order) for name, content in contents.items()))
        return tuple(Template(name, images[name], tuple(served[name])) for name in contents)

    def _groups(self, order: MachineOrder) -> dict[tuple[Ami, int, int, str | None], list[Option]]:
        """Return the options by what their templates differ in; types without an image are dropped (AWS-61)."""
        groups: dict[tuple[Ami, int, int, str | None], list[Option]] = {}
        images: dict[str, Ami | None] = {}
        wants_efa = bool(order.claim.requests.get(EFA))
        for found, offering in order.options:
            if found.name not in images:
                images[found.name] = order.resolved.ami_for(found)
            ami = images[found.name]
            if ami is None:
                continue
            efas = found.capacity.get(EFA, 0) if wants_efa else 0
            reservation = offering.reservation_id if order.capacity_type == labels.RESERVED else None
            key = (ami, found.capacity.get(PODS, 0), efas, reservation)
            groups.setdefault(key, []).append((found, offering))
        return groups

    def content(
        self, order: MachineOrder, ami: Ami, *, pods: int, efas: int = 0, reservation_id: str | None = None
    ) -> Content:
        """Return the content of the template for one image and kind of type. Raises LaunchError."""
        cluster, node_class = self._cluster(), order.resolved.node_class
        boot = bootstrap_of(
            order.claim,
            node_class,
            cluster,
            capacity_type=order.capacity_type,
            max_pods=pods,
            kubelet=order.kubelet,
        )
        try:
            user_data = render_user_data(boot)
        except UserDataError as error:
            raise LaunchError(error.reason, f"node class {node_class.name!r}: {error}") from error
        size = len(user_data.encode())
        if size > _WARN_BYTES:
            log.warning("user data is almost as large as EC2 takes", node_class=node_class.name, bytes=size)
        recipe = Recipe(
            ami=ami,
            user_data=user_data,
            tags=self.tags_of(order),
            efas=efas,
            reservation_id=reservation_id,
            is_ipv6=cluster.is_ipv6,
            minds_reservations=minds_reservations(order.claim.labels),
        )
        return template_content(order.resolved, recipe)

    def tags_of(self, order: MachineOrder) -> dict[str, str]:
        """Return the tags of all that is launched for an order."""
        return launch_tags(
            order.claim, order.resolved.node_class, cluster_name=self._cluster().name, everywhere=self._tags
        )

    # --- what exists --------------------------------------------------------------------------------------------------

    async def _ensure(self, name: str, content: Content, order: MachineOrder) -> None:
        known = self._known.setdefault(name, _Known(self._clock.now()))
        known.used_at = self._clock.now()
        async with known.making:  # many claims want the same template at once: one of them makes it
            if not known.exists:
                await self._create(name, content, order)
                known.exists = True

    async def _create(self, name: str, content: Content, order: MachineOrder) -> None:
        tags = {**self.tags_of(order), TEMPLATES_OF: self._cluster().name}
        try:
            await self._aws.call(
                "ec2",
                "CreateLaunchTemplate",
                LaunchTemplateName=name,
                LaunchTemplateData=content,
                TagSpecifications=[{"ResourceType": "launch-template", "Tags": tag_list(tags)}],
            )
        except CloudError as error:
            # Its name is its content: whoever made it, it is the one we want.
            if error_code(error) != _THERE:
                raise
        log.debug("made a launch template", launch_template=name, node_class=order.resolved.name)

    def forget(self, name: str) -> None:
        """Forget a template that EC2 does not know any more; see `TemplateSource`."""
        self._known.pop(name, None)

    async def adopt(self) -> None:
        """Take over the cluster's templates of an earlier process, so that they are deleted when unused (AWS-55)."""
        for name in await self._existing({TEMPLATES_OF: self._cluster().name}):
            self._known.setdefault(name, _Known(self._clock.now(), exists=True))

    async def delete_unused(self) -> None:
        """Delete the templates that no launch has used for a minute (A-39). Raises CloudError."""
        now = self._clock.now()
        for name, known in list(self._known.items()):
            if now - known.used_at < UNUSED_S or known.making.locked():
                continue
            # Before the call: a launch that comes meanwhile makes it anew rather than trusting one that goes.
            self.forget(name)
            await self._delete(name)

    async def delete_of(self, node_class: str) -> None:
        """Delete all templates of a node class, which goes (A-3). Raises CloudError."""
        for name in await self._existing({TEMPLATES_OF: self._cluster().name, NODE_CLASS: node_class}):
            self.forget(name)
            await self._delete(name)

    async def _existing(self, tags: Mapping[str, str]) -> list[str]:
        filters = [{"Name": f"tag:{key}", "Values": [value]} for key, value in tags.items()]
        found = await collect(self._aws, ("ec2", "DescribeLaunchTemplates"), "LaunchTemplates", Filters=filters)
        return [raw["LaunchTemplateName"] for raw in found]

    async def _delete(self, name: str) -> None:
        try:
            await self._aws.call("ec2", "DeleteLaunchTemplate", LaunchTemplateName=name)
        except CloudError as error:
            if error_code(error) not in _GONE:
                raise
        log.debug("deleted a launch template", launch_template=name)


def template_name(content: Content) -> str:
    """Return the name of a template, which is that of its content."""
    digest = hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()
    return f"{_PREFIX}{digest[:20]}"
