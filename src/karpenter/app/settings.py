"""Every setting, in one table: its key, its variable, its default and what it does.

A setting comes from `--set KEY=VALUE`, else from its environment variable, else from the default in the feature's own
dataclass. They are read once, at the start. `docs/settings.md` is written from this table.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Final, TypeVar, get_args

import msgspec

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

from karpenter.app.awssettings import AWS_SETTINGS
from karpenter.app.errors import SettingsError
from karpenter.app.featuregates import VARIABLE, read_gates
from karpenter.app.forms import (
    AMOUNT,
    DEADLINE,
    DURATION,
    NAME,
    PATHS,
    PORT,
    POSITIVE,
    SWITCH,
    Setting,
    choice,
)
from karpenter.app.measures.settings import MetricsSettings, Offered
from karpenter.app.policysettings import POLICY_SETTINGS
from karpenter.disruption.options import (
    Expiration,
    ExpirationMode,
    InterruptionMode,
    InterruptionSettings,
    Rebalance,
    RepairSettings,
)
from karpenter.model.aws.settings import DEFAULT_SETTINGS, AwsSettings
from karpenter.provisioning.batcher import BatchWindow
from karpenter.provisioning.governor import LaunchLimits
from karpenter.provisioning.hints import HintSettings
from karpenter.runtime.logs import Level
from karpenter.scheduling.policy import Policy


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """How the controller's process behaves (`run`)."""

    log_level: Level = "info"
    log_output: tuple[str, ...] = ("stdout",)
    """Where `run` writes its log: `stdout`, `stderr` or files."""
    health_probe_port: int = 8081
    kube_client_qps: int = 200
    """Requests per second to the API server, on average."""
    kube_client_burst: int = 300
    disable_leader_election: bool = False
    leader_election_name: str = "karpenter-leader-election"
    leader_election_namespace: str = "kube-system"


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, each in the dataclass of the feature that reads it."""

    batch: BatchWindow = dataclasses.field(default_factory=BatchWindow)
    policy: Policy = dataclasses.field(default_factory=Policy)
    aws: AwsSettings = DEFAULT_SETTINGS
    placement: HintSettings = dataclasses.field(default_factory=HintSettings)
    launch: LaunchLimits = dataclasses.field(default_factory=LaunchLimits)
    expiration: Expiration = dataclasses.field(default_factory=Expiration)
    interruption: InterruptionSettings = dataclasses.field(default_factory=InterruptionSettings)
    repair: RepairSettings = dataclasses.field(default_factory=RepairSettings)
    metrics: MetricsSettings = dataclasses.field(default_factory=MetricsSettings)
    process: ProcessSettings = dataclasses.field(default_factory=ProcessSettings)
    absent: tuple[str, ...] = ()
    """Features that were asked for and are not there."""


_PARTS: Final = frozenset(each.name for each in dataclasses.fields(Settings))

SETTINGS: Final[tuple[Setting, ...]] = (
    Setting(
        "batch.idleDuration",
        "idle_s",
        DURATION,
        "A batch of pods is planned for once no new pod has come for this long.",
        variable="BATCH_IDLE_DURATION",
    ),
    Setting(
        "batch.maxDuration",
        "max_s",
        DURATION,
        "A batch is planned for at the latest this long after its first pod.",
        variable="BATCH_MAX_DURATION",
    ),
    *POLICY_SETTINGS,
    Setting(
        "placement.hints",
        "hints",
        SWITCH,
        "Whether kube-scheduler is told where pods were planned (`status.nominatedNodeName`), once the node is there.",
    ),
    Setting(
        "launch.perMinute",
        "per_minute",
        POSITIVE,
        "Machines that may be launched within a minute, however small the fleet is.",
    ),
    Setting(
        "launch.sharePerMinute",
        "share_per_minute",
        AMOUNT,
        "Share of the fleet that may be launched within a minute, where that is more.",
    ),
    Setting(
        "launch.pricePerHour",
        "price_per_hour",
        AMOUNT,
        "USD per hour that all machines together may cost; nothing that would exceed it is launched. 0 is no cap.",
    ),
    Setting(
        "expiration.mode",
        "mode",
        choice(*get_args(ExpirationMode)),
        "Whether expired nodes are replaced first, within the budgets of their pool, or all drained at once.",
    ),
    Setting(
        "expiration.deadline",
        "deadline_s",
        DEADLINE,
        "How long after its expiry a node is gone, whatever budgets and pods say.",
    ),
    Setting(
        "interruption.mode",
        "mode",
        choice(*get_args(InterruptionMode)),
        "Whether a machine that the cloud takes away is replaced before its pods are evicted, as far as the notice "
        "leaves time.",
    ),
    Setting(
        "interruption.rebalance",
        "rebalance",
        choice(*get_args(Rebalance)),
        "What a rebalance recommendation leads to, beside an event.",
    ),
    Setting(
        "repair.enabled",
        "enabled",
        SWITCH,
        "Whether nodes that have been broken for long are replaced, while no more than a fifth of their pool is.",
    ),
    *AWS_SETTINGS,
    Setting(
        "log.level",
        "log_level",
        choice(*get_args(Level)),
        "What is logged.",
        variable="LOG_LEVEL",
    ),
    Setting(
        "log.outputPaths",
        "log_output",
        PATHS,
        "Where `run` writes its log: `stdout`, `stderr`, or a file that is appended to.",
        variable="LOG_OUTPUT_PATHS",
    ),
    Setting(
        "metrics.port",
        "port",
        PORT,
        "Where `run` serves `/metrics` and the status page.",
        variable="METRICS_PORT",
    ),
    Setting(
        "metrics.perNode",
        "per_node",
        SWITCH,
        "Whether metrics have samples for each node (`karpenter_nodes_allocatable` and the like).",
    ),
    Setting(
        "metrics.perPod",
        "per_pod",
        SWITCH,
        "Whether metrics have a sample for each pod (`karpenter_pods_state`) and each one's age while it waits.",
    ),
    Setting(
        "metrics.perObjectConditions",
        "per_object_conditions",
        SWITCH,
        "Whether metrics have samples for each condition of each claim, pool and node.",
    ),
    Setting(
        "metrics.offerings",
        "offerings",
        choice(*get_args(Offered)),
        "Which instance types and prices metrics show: those of the nodes there are, all that pools can get, or none.",
    ),
    Setting(
        "health.port",
        "health_probe_port",
        PORT,
        "Where `run` serves `/healthz` and `/readyz`.",
        variable="HEALTH_PROBE_PORT",
    ),
    Setting(
        "kube.qps",
        "kube_client_qps",
        POSITIVE,
        "Requests per second that `run` sends to the API server, on average.",
        variable="KUBE_CLIENT_QPS",
    ),
    Setting(
        "kube.burst",
        "kube_client_burst",
        POSITIVE,
        "Requests that `run` may send at once.",
        variable="KUBE_CLIENT_BURST",
    ),
    Setting(
        "leaderElection.disable",
        "disable_leader_election",
        SWITCH,
        "Whether `run` works without holding the lease; then nothing keeps two processes from working at once.",
        variable="DISABLE_LEADER_ELECTION",
    ),
    Setting(
        "leaderElection.name",
        "leader_election_name",
        NAME,
        "The lease that the working process of several holds.",
        variable="LEADER_ELECTION_NAME",
    ),
    Setting(
        "leaderElection.namespace",
        "leader_election_namespace",
        NAME,
        "Where that lease is.",
        variable="LEADER_ELECTION_NAMESPACE",
    ),
)


def read_settings(assignments: Sequence[str], environment: Mapping[str, str]) -> Settings:
    """Return the settings that `--set` texts (`KEY=VALUE`, the last one wins) and the environment make.

    Raises:
        SettingsError: a key is unknown or a value cannot be read.
    """
    gates = read_gates(environment.get(VARIABLE, ""))
    texts = {_setting(key): (VARIABLE, text) for key, text in gates.assignments.items()}
    texts |= {
        setting: (setting.variable, environment[setting.variable])
        for setting in SETTINGS
        if environment.get(setting.variable)
    }
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise SettingsError(f"--set {assignment}: a value is missing, write {assignment}=VALUE")
        texts[_setting(key.strip())] = (f"--set {key}", text.strip())
    settings = Settings(absent=gates.absent)
    for setting, (origin, text) in texts.items():
        settings = _with(settings, setting, origin=origin, text=text)
    return settings


def _setting(key: str) -> Setting:
    known = {setting.key: setting for setting in SETTINGS}
    if key in known:
        return known[key]
    near = difflib.get_close_matches(key.lower(), [name.lower() for name in known], n=1, cutoff=0.5)
    names = [name for name in known if name.lower() in near]
    hint = f"did you mean {names[0]}?" if names else f"write one of {', '.join(known)}"
    raise SettingsError(f"--set {key}: there is no such setting, {hint}")


def _with(settings: Settings, setting: Setting, *, origin: str, text: str) -> Settings:
    try:
        value = setting.form.read(text)
    except ValueError as error:
        raise SettingsError(f"{origin}: {error}") from error
    return _replaced(settings, [part_of(setting), *setting.field.split(".")], value)


_Whole = TypeVar("_Whole", bound="DataclassInstance")


def _replaced(whole: _Whole, path: Sequence[str], value: object) -> _Whole:
    """Return a frozen dataclass with one value deep inside it exchanged."""
    inner = _replaced(getattr(whole, path[0]), path[1:], value) if path[1:] else value
    return dataclasses.replace(whole, **{path[0]: inner})


def part_of(setting: Setting) -> str:
    """Return the attribute of `Settings` that a setting belongs to."""
    group = setting.key.partition(".")[0]
    return group if group in _PARTS else "process"


def value_of(settings: Settings, setting: Setting) -> object:
    """Return what a setting is set to."""
    value: object = attrgetter(f"{part_of(setting)}.{setting.field}")(settings)
    return value


def shown(settings: Settings, part: str) -> dict[str, object]:
    """Return one part's values by their name in the table, durations in seconds: what `simulate` prints as `policy`."""
    return {
        setting.key.partition(".")[2]: msgspec.to_builtins(value_of(settings, setting))
        for setting in SETTINGS
        if part_of(setting) == part
    }


def table(settings: Iterable[Setting] = SETTINGS) -> str:
    """Return the settings as a Markdown table, for `docs/settings.md`."""
    defaults = Settings()
    rows = [
        f"| `{setting.key}` | {f'`{setting.variable}`' if setting.variable else '–'} | {setting.form.name} "
        f"| `{setting.form.show(value_of(defaults, setting))}` | {setting.meaning} |"
        for setting in settings
    ]
    return "\n".join(["| setting | variable | value | default | meaning |", "| --- | --- | --- | --- | --- |", *rows])
