"""Kinds that definitions bring: ours, and one with every rule."""

import subprocess
import sys
from typing import Any

from tests.e2e.twins.clusters import Cluster
from tests.e2e.twins.scenarios.manifests import an_object
from tests.e2e.twins.stage import scenario

GROUP = "twins.example.com"
WIDGETS = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
                "colour": {"type": "string", "enum": ["red", "green"], "description": "What it looks like."},
                "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
                "parts": {
                    "type": "array",
                    "maxItems": 2,
                    "items": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}},
                },
            },
            "x-kubernetes-validations": [
                {"rule": "!has(self.name) || self.size > 1", "message": "a name needs a size above 1"},
                {"rule": "self.size >= oldSelf.size", "message": "it never shrinks"},
            ],
        },
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
    },
}
DEFINITION = an_object(
    "CustomResourceDefinition",
    f"widgets.{GROUP}",
    api="apiextensions.k8s.io/v1",
    spec={
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": WIDGETS},
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.n"},
                },
                "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
            }
        ],
    },
)


def a_widget(title: str, **spec: Any) -> dict[str, Any]:
    return an_object("Widget", title, api=f"{GROUP}/v1", spec=spec)


@scenario
def custom_kinds_come_with_all_their_rules(cluster: Cluster) -> None:
    cluster.kubectl("create -f -", DEFINITION)
    cluster.kubectl(f"wait --for=condition=Established crd/widgets.{GROUP} --timeout=30s")
    cluster.until("get widgets", "No resources found")
    cluster.kubectl(f"get crd widgets.{GROUP} -o jsonpath='{{.status.acceptedNames}} {{.status.storedVersions}}'")
    cluster.kubectl("create -f -", a_widget("a", colour="red"))
    cluster.holds("widget a")
    cluster.kubectl("get wd a")
    cluster.kubectl("describe widget a")
    cluster.kubectl(
        "create -f -",
        a_widget("b", size=10, colour="blue", name="UP", parts=[{}, {"id": "x"}, {"id": "y"}]),
        in_order=False,
    )
    cluster.kubectl("create -f -", a_widget("b", size=1, name="low"))
    cluster.kubectl("create -f -", a_widget("b", parts="x"))
    cluster.kubectl("create -f -", a_widget("b", weight=1))
    cluster.kubectl("create --validate=ignore -f -", a_widget("pruned", weight=1))
    cluster.holds("widget pruned", only=lambda one: one["spec"])
    cluster.kubectl('patch widget a --type=merge -p \'{"spec": {"size": 2}}\'')
    cluster.kubectl('patch widget a -p \'{"spec": {"size": 4}}\'')
    cluster.kubectl('patch widget a --type=merge -p \'{"spec": {"size": 4}}\'')
    cluster.kubectl("scale widget a --replicas=5")
    cluster.kubectl('patch widget a --subresource=status --type=merge -p \'{"status": {"ready": true}}\'')
    cluster.kubectl("get widget a -o jsonpath='{.spec} {.status} {.metadata.generation}'")
    cluster.kubectl("apply --server-side -f -", a_widget("a", colour="green"))
    cluster.kubectl("get widgets --field-selector spec.size=4")
    cluster.kubectl("explain widget.spec")
    cluster.kubectl("explain widget.spec.colour")
    cluster.kubectl(f"api-resources --api-group={GROUP} --no-headers")
    cluster.kubectl(f"delete crd widgets.{GROUP}")
    cluster.until("get widgets", "the server")


@scenario
def our_kinds_are_explained_and_judged(cluster: Cluster) -> None:
    ours = subprocess.run(
        [sys.executable, "-m", "karpenter", "crds"], capture_output=True, text=True, check=True
    ).stdout
    cluster.quietly("apply -f -", ours)
    for kind in ("provisioners.karpenter.sh", "nodepools.karpenter.sh", "nodeclaims.karpenter.sh"):
        cluster.quietly(f"wait --for=condition=Established crd/{kind} --timeout=30s")
    cluster.until("get nodepools", "No resources found")
    for path in ("nodepool.spec.disruption", "provisioner.spec.ttlSecondsAfterEmpty", "nodeclaim.spec.requirements"):
        cluster.kubectl(f"explain {path}")
    pool = an_object("NodePool", "twins", api="karpenter.sh/v1", spec={"template": {"spec": {}}})
    cluster.kubectl("create -f -", pool)
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    pool["spec"] = {"template": {"spec": {"nodeClassRef": reference, "requirements": []}}}
    cluster.kubectl("create -f -", pool)
    cluster.holds("nodepool twins")
    cluster.kubectl("get nodepool twins")
    cluster.kubectl("delete nodepool twins")
