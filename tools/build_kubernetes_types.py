"""Generate the table of Kubernetes' own types, `src/karpenter/runtime/kubememory/schema/types.txt`; run by hand.

It reads the message definitions that the Go modules of Kubernetes carry (Apache-2.0) and keeps the facts only: names,
numbers and types of fields, what is a map or a set, what a patch merges by. Fetch the modules and run:

    go mod download k8s.io/api@v0.32.4 k8s.io/apimachinery@v0.32.4 k8s.io/apiextensions-apiserver@v0.32.4
    python tools/build_kubernetes_types.py --modules "$(go env GOMODCACHE)/k8s.io" --version v0.32.4

`--check` writes nothing and fails when the committed file differs.
"""

import argparse
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "src/karpenter/runtime/kubememory/schema/types.txt"

PACKAGES = {
    "k8s.io.api.core.v1": "api@{}/core/v1",
    "k8s.io.api.apps.v1": "api@{}/apps/v1",
    "k8s.io.api.batch.v1": "api@{}/batch/v1",
    "k8s.io.api.policy.v1": "api@{}/policy/v1",
    "k8s.io.api.storage.v1": "api@{}/storage/v1",
    "k8s.io.api.scheduling.v1": "api@{}/scheduling/v1",
    "k8s.io.api.coordination.v1": "api@{}/coordination/v1",
    "k8s.io.api.networking.v1": "api@{}/networking/v1",
    "k8s.io.api.node.v1": "api@{}/node/v1",
    "k8s.io.api.rbac.v1": "api@{}/rbac/v1",
    "k8s.io.api.autoscaling.v1": "api@{}/autoscaling/v1",
    "k8s.io.api.authorization.v1": "api@{}/authorization/v1",
    "k8s.io.api.authentication.v1": "api@{}/authentication/v1",
    "k8s.io.apimachinery.pkg.apis.meta.v1": "apimachinery@{}/pkg/apis/meta/v1",
    "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1": "apiextensions-apiserver@{}/pkg/apis/apiextensions/v1",
}
META = "k8s.io.apimachinery.pkg.apis.meta.v1"
ROOTS = {
    "k8s.io.api.core.v1": """Binding ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume
        PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount""",
    "k8s.io.api.apps.v1": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "k8s.io.api.batch.v1": "CronJob Job",
    "k8s.io.api.policy.v1": "Eviction PodDisruptionBudget",
    "k8s.io.api.storage.v1": "CSIDriver CSINode StorageClass VolumeAttachment",
    "k8s.io.api.scheduling.v1": "PriorityClass",
    "k8s.io.api.coordination.v1": "Lease",
    "k8s.io.api.networking.v1": "Ingress NetworkPolicy",
    "k8s.io.api.node.v1": "RuntimeClass",
    "k8s.io.api.rbac.v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "k8s.io.api.autoscaling.v1": "Scale",
    "k8s.io.api.authorization.v1": "SelfSubjectAccessReview SelfSubjectRulesReview",
    "k8s.io.api.authentication.v1": "SelfSubjectReview TokenRequest",
    META: "DeleteOptions",
    "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1": "CustomResourceDefinition",
}
SCALARS = {"string", "bool", "int32", "int64", "double", "bytes"}
# Messages whose JSON is not an object of their fields.
SPECIAL = {
    "k8s.io.apimachinery.pkg.api.resource.Quantity": "quantity",
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    f"{META}.Time": "time",
    f"{META}.MicroTime": "time",
    f"{META}.FieldsV1": "any",
    "k8s.io.apimachinery.pkg.runtime.RawExtension": "any",
    "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSON": "any",
    "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": "any",
    "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": "any",
    "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": "any",
}
FIELD = re.compile(
    r"(optional|repeated|map<string, *(?P<value>[\w.]+)>) ?(?P<type>[\w.]+)? (?P<name>\w+) = (?P<number>\d+);"
)
STRUCT = re.compile(r"type (\w+) struct \{")
TAG = re.compile(
    r'(?P<go>\w+)\s+(?P<pointer>\*)?.*`json:"(?P<json>[^",]*)[^"]*".* protobuf:"(?:[^"]*\bname=(?P<name>\w+))?'
)


@dataclass(frozen=True)
class GoFields:
    """What Go knows of fields, by type and protobuf name."""

    json_names: dict[tuple[str, str], str]
    """Where JSON calls a field otherwise; `inline` when its own fields take its place."""
    pointers: set[tuple[str, str]]
    """Fields that can be absent: a zero that is sent is meant."""


@dataclass
class Message:
    """One type: its lines, and the types they name."""

    is_atomic: bool
    lines: list[str] = field(default_factory=list)
    uses: list[str] = field(default_factory=list)


def main() -> int:
    """Write the table, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--modules", type=Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    messages = {}
    for package, folder in PACKAGES.items():
        source = options.modules / folder.format(options.version)
        go = read_go_fields("".join(path.read_text(encoding="utf-8") for path in sorted(source.glob("*types*.go"))))
        messages.update(read_messages(package, (source / "generated.proto").read_text(encoding="utf-8"), go))
    table = write_table(messages, options.version)
    if options.check:
        return int(TARGET.read_text(encoding="utf-8") != table)
    TARGET.write_text(table, encoding="utf-8")
    return 0


def read_go_fields(text: str) -> GoFields:
    """Return what the structs of a Go file say of their fields."""
    known = GoFields({}, set())
    owner = ""
    for line in text.splitlines():
        if match := STRUCT.match(line):
            owner = match[1]
        elif match := TAG.search(line):
            name = match["name"] or match["go"][0].lower() + match["go"][1:]
            if match["json"] != name:
                known.json_names[owner, name] = match["json"] or "inline"
            if match["pointer"]:
                known.pointers.add((owner, name))
    return known


def read_messages(package: str, text: str, go: GoFields) -> dict[str, Message]:
    """Return the messages of one file by full name."""
    found: dict[str, Message] = {}
    current, marks, name = None, [], ""
    for line in (raw.strip() for raw in text.splitlines()):
        if line.startswith("message "):
            name = line.split()[1]
            current = found.setdefault(f"{package}.{name}", Message(is_atomic="structType=atomic" in marks))
            marks = []
        elif line.startswith("// +"):
            marks.append(line[4:])
        elif current is not None and (match := FIELD.match(line)):
            read_field(current, match, package=package, marks=marks, owner=name, go=go)
            marks = []
        elif line in ("", "}"):
            marks = []
    return found


def read_field(
    message: Message, match: re.Match[str], *, package: str, marks: list[str], owner: str, go: GoFields
) -> None:
    """Add a field's line to a message."""
    value = full_name(match["value"] or match["type"], package)
    if value not in SCALARS and value not in SPECIAL:
        message.uses.append(value)
    shape = "{}" if match["value"] else "[]" if match[1] == "repeated" else ""
    json_name = go.json_names.get((owner, match["name"]))
    name = match["name"] if json_name in (None, "inline") else json_name
    pointer = "?" if (owner, match["name"]) in go.pointers else ""
    words = [name, match["number"], f"{shape}{SPECIAL.get(value, value)}{pointer}", *attributes(marks)]
    if json_name == "inline":
        words.append("inline")
    message.lines.append(" ".join(words))


def attributes(marks: list[str]) -> list[str]:
    """Return what the markers of a field say, in the table's words."""
    said: dict[str, list[str]] = {}
    for mark in marks:
        key, _, value = mark.partition("=")
        said.setdefault(key, []).append(value)
    words = []
    match said.get("listType"):
        case ["map"]:
            words.append("keys=" + ",".join(said["listMapKey"]))
        case ["set"]:
            words.append("set")
    if said.get("mapType") == ["atomic"] or said.get("structType") == ["atomic"]:
        words.append("atomic")
    if strategy := said.get("patchStrategy"):
        words.append("patch=" + strategy[0])
    if key := said.get("patchMergeKey"):
        words.append("by=" + key[0])
    default = said.get("default")
    if default and default[0].strip('"') and not default[0].startswith("ref("):
        words.append("default=" + default[0].strip('"'))
    return words


def full_name(name: str, package: str) -> str:
    """Return a type's name with its package; scalars stay as they are."""
    if name in SCALARS:
        return name
    return name[1:] if name.startswith(".") else f"{package}.{name}"


def write_table(messages: dict[str, Message], version: str) -> str:
    """Return the table: each root and everything it reaches."""
    roots = [f"{package}.{name}" for package, names in ROOTS.items() for name in names.split()]
    reached, waiting = set(), list(roots)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(messages[name].uses)
    lines = [
        f"# Kubernetes' own types at {version}. Generated by tools/build_kubernetes_types.py; do not edit.",
        "# A type (`kind`: it has apiVersion and kind), then its fields: name, protobuf number, type ([] a list of,",
        "# {} a map of, ? may be absent: a zero is meant), and what lists and patches go by.",
    ]
    for name in sorted(reached):
        marks = [*(["kind"] if name in roots else []), *(["atomic"] if messages[name].is_atomic else [])]
        lines += [" ".join([short(name), *marks]), *(" " + shorten(line) for line in messages[name].lines)]
    return "\n".join(lines) + "\n"


def short(name: str) -> str:
    """Return `core.PodSpec` for `k8s.io.api.core.v1.PodSpec`."""
    package, _, own = name.rpartition(".")
    return f"{package.removesuffix('.v1').rpartition('.')[2]}.{own}"


def shorten(line: str) -> str:
    """Return a field's line with its type's name shortened."""
    return re.sub(r"k8s\.io\.[\w.]+", lambda match: short(match[0]), line)


if __name__ == "__main__":
    sys.exit(main())
