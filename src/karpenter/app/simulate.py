"""`karpenter simulate`: where would these pods go, and what would be launched for them?"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from cyclopts import Parameter, validators

from karpenter.app.errors import SettingsError
from karpenter.app.settings import Settings, read_settings, shown
from karpenter.app.simulation.answer import Answer, BothPrices, Seconds, as_data, with_rejected
from karpenter.app.simulation.case import Case, Circumstances, past_of, read_case
from karpenter.app.simulation.dumps import completed
from karpenter.app.simulation.explained import Explained, explained, explained_data
from karpenter.app.simulation.fleet import Fleet, give_back, with_fleet
from karpenter.app.simulation.generations import about_generations
from karpenter.app.simulation.progress import shown_progress
from karpenter.app.simulation.table import print_answer
from karpenter.disruption.options import DisruptionOptions
from karpenter.provisioning.pending import admit
from karpenter.scheduling import solve
from karpenter.scheduling.demand import Demand
from karpenter.scheduling.explain import Plan
from karpenter.scheduling.policy import Options, PreferencePolicy
from karpenter.scheduling.remedies import refusals_of
from karpenter.scheduling.reporter import Reporter, unheard
from karpenter.scheduling.solver import preferences_of

PLACED, NOT_ALL_PLACED = 0, 3


def simulate(
    *,
    file: Annotated[
        tuple[str, ...], Parameter(name=["--file", "-f"], required=True, negative=(), allow_leading_hyphen=True)
    ],
    output: Annotated[Literal["table", "json", "yaml"], Parameter(name=["--output", "-o"])] = "table",
    catalog: Annotated[Path | None, Parameter(name="--catalog")] = None,
    seed: int = 0,
    set_: Annotated[tuple[str, ...], Parameter(name="--set", negative=(), show_default=False)] = (),
    strict: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    optimize: Annotated[int, Parameter(validator=validators.Number(gte=0))] = Options().rounds,
    max_nodes: Annotated[int | None, Parameter(validator=validators.Number(gte=0), show_default=False)] = None,
    disrupt: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    until_settled: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    now: Annotated[str | None, Parameter(show_default=False)] = None,
    explain: Annotated[str | None, Parameter(show_default=False)] = None,
) -> int:
    """Say where pending pods would go and which nodes would be launched for them, offline.

    Exit status: 0 when every pod found a place, 3 when some did not, 2 when the input is wrong.

    Parameters
    ----------
    file
        Manifests or kubectl dumps: a file, a folder, or `-` for standard input. May be given several times.
    output
        How to print the answer.
    catalog
        Instance types from this file instead of those of AWS; node classes are then not needed.
    seed
        Fixes spot prices and shortages.
    set_
        A setting, KEY=VALUE; docs/settings.md lists them. May be given several times.
    strict
        Refuse what Karpenter itself refused, instead of accepting it with a warning.
    optimize
        Rounds of looking for a cheaper plan; 0 takes the first answer. Equal rounds give equal plans.
    max_nodes
        Launch no more new nodes than this, even if pods stay pending.
    disrupt
        Say as well which nodes would be given back or replaced at the next look, and why the others stay.
    until_settled
        With --disrupt: carry that out in memory again and again, until nothing is left to do.
    now
        The time to plan for, such as 2026-11-30T12:00:00Z; timers, life times and budgets' windows go by it.
    explain
        Say why the pod or node of this name is where it is, what else was possible at which price, and what each
        preference costs. Names: web-0, shop/web-0, node/default-1.
    """
    if explain and disrupt:
        raise SettingsError("--explain: it explains the plan for pending pods; leave --disrupt out")
    if until_settled and not disrupt:
        raise SettingsError("--until-settled: it says how far --disrupt goes, give both")
    settings = read_settings(set_, os.environ)
    options = Options(policy=settings.policy, rounds=optimize, max_nodes=max_nodes)
    started = time.perf_counter()
    case = read_case(file, settings, Circumstances(catalog=catalog, seed=seed, strict=strict, now=now))
    if disrupt:
        case = replace(case, snapshot=completed(case.snapshot))
    load_s = time.perf_counter() - started
    with shown_progress() as reporter:
        answer = answer_for(case, settings, options, load_s=load_s, reporter=reporter)
        found = _explained(case, answer, options, name=explain, reporter=reporter) if explain else None
    fleet = _fleet(case, answer, settings, options=options, until_settled=until_settled) if disrupt else None
    if output == "table":
        print_answer(answer, fleet, found)
    else:
        data = as_data(answer) if fleet is None else with_fleet(as_data(answer), fleet)
        data |= {"explanation": explained_data(found)} if found is not None else {}
        print(_written(data, output), end="")
    return PLACED if answer.is_all_placed else NOT_ALL_PLACED


def _fleet(case: Case, answer: Answer, settings: Settings, *, options: Options, until_settled: bool) -> Fleet:
    ways = DisruptionOptions(options, settings.expiration, past_of(case, settings.policy))
    return give_back(case.snapshot, answer.solution, ways, until_settled=until_settled)


def _explained(case: Case, answer: Answer, options: Options, *, name: str, reporter: Reporter | None) -> Explained:
    accepted, _ = admit(case.snapshot.pending)
    plan = Plan(case.snapshot, Demand.each(accepted), answer.solution, options)
    return explained(plan, answer, name, progress=reporter.progress if reporter else unheard)


def _written(data: Mapping[str, Any], output: Literal["json", "yaml"]) -> str:
    if output == "json":
        return json.dumps(data, indent=2) + "\n"
    return yaml.dump(dict(data), Dumper=yaml.SafeDumper, sort_keys=False, allow_unicode=True)


def answer_for(
    case: Case, settings: Settings, options: Options, *, load_s: float = 0.0, reporter: Reporter | None = None
) -> Answer:
    """Return where the pending pods would go."""
    started, cpu = time.perf_counter(), time.process_time()
    accepted, rejected = admit(case.snapshot.pending)
    demand = Demand.each(accepted)
    solution = solve(case.snapshot, demand, options, reporter=reporter)
    seconds = Seconds(load_s, time.perf_counter() - started, time.process_time() - cpu)
    preferences = _both_prices(case, demand, options, planned=solution.price)
    generations = about_generations(case.snapshot, demand, options, solution=solution)
    solution = with_rejected(solution, rejected)
    return Answer(
        solution=solution,
        nodes=case.snapshot.nodes,
        policy=shown(settings, "policy"),
        warnings=(*case.warnings, *generations),
        seconds=seconds,
        preferences=preferences,
        refusals=refusals_of(
            case.snapshot, demand, solution, options=options, progress=reporter.progress if reporter else unheard
        ),
    )


def _both_prices(case: Case, demand: Demand, options: Options, *, planned: float) -> BothPrices | None:
    """Return what new nodes cost under either policy for preferences; None when no pod states any."""
    policy = options.policy
    if not preferences_of(case.snapshot, demand, replace(options, policy=replace(policy, preferences="Respect"))):
        return None
    other: PreferencePolicy = "Ignore" if policy.preferences == "Respect" else "Respect"
    price = solve(case.snapshot, demand, replace(options, policy=replace(policy, preferences=other))).price
    return BothPrices(planned, price) if other == "Ignore" else BothPrices(price, planned)
