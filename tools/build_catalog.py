"""Generate the data files of the simulated cloud, `src/karpenter/catalog/`; run by hand, never packaged.

What it writes:

* `aws-instance-types.json.gz`, from the EC2 descriptions and zone offerings that moto ships (Apache-2.0) plus the facts
  that moto lacks, kept in `catalog-facts.json` beside this script. A newer and an older moto are read: types that only
  the older one knows are kept and marked `retired`, because manifests of the v1alpha5 age still name them.
* `aws-images.json`: invented machine images under the real naming schemes (`catalog_images.py`).
* `aws-prices.json`: our own table, edited by hand or refitted with `--fit` (`catalog_prices.py`); otherwise only
  rewritten in its normal form.

Fetch the two wheels with pip (nothing is installed) and run:

    python -m pip download --no-deps -d build/moto moto==5.2.5
    python -m pip download --no-deps -d build/moto moto==5.0.16
    python tools/build_catalog.py --moto build/moto/moto-5.2.5-*.whl --older-moto build/moto/moto-5.0.16-*.whl

`--check` writes nothing and fails when a committed file differs from what would be generated. `--fit CATALOG` first
updates `aws-prices.json` and `catalog-facts.json` with the on-demand prices and branch-interface limits of a catalogue
in the form that `karpenter simulate --catalog` reads: `instanceTypes`, each with `name`, `requirements`, `offerings`
(with `price`) and `capacity`.
"""

import argparse
import gzip
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from catalog_images import build_images
from catalog_prices import fit_branch_interfaces, fit_prices, on_demand_price
from catalog_types import MotoData, build_instance_types

ROOT = Path(__file__).resolve().parent.parent
CATALOG = ROOT / "src" / "karpenter" / "catalog"
TYPES_FILE = CATALOG / "aws-instance-types.json.gz"
PRICES_FILE = CATALOG / "aws-prices.json"
IMAGES_FILE = CATALOG / "aws-images.json"
FACTS_FILE = Path(__file__).resolve().parent / "catalog-facts.json"


def main(argv: list[str] | None = None) -> int:
    """Generate or check the files; 0 when written or up to date, 1 when `--check` found a difference."""
    options = parse_options(argv)
    if options.fit is not None:
        refit(options.fit)
    types = build_instance_types(MotoData(options.moto), MotoData(options.older_moto), load_json(FACTS_FILE))
    files = {
        TYPES_FILE: dump_by_line(types, last="types"),
        PRICES_FILE: dump_prices(load_json(PRICES_FILE)),
        IMAGES_FILE: dump_by_line(build_images(), last="images"),
    }
    print(summary(types, load_json(PRICES_FILE)))
    if options.check:
        return check(files)
    for path, text in files.items():
        write(path, text)
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes")
    return 0


def parse_options(argv: list[str] | None) -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(description="Generate src/karpenter/catalog from moto's packaged data.")
    parser.add_argument("--moto", type=Path, required=True, help="newest moto: its wheel or its package directory")
    parser.add_argument("--older-moto", type=Path, required=True, help="moto that still knows the retired types")
    parser.add_argument("--fit", type=Path, metavar="CATALOG", help="refit prices and branch interfaces from CATALOG")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is out of date")
    options = parser.parse_args(argv)
    if options.check and options.fit:
        parser.error("--fit writes files, --check does not")
    return options


def refit(catalog: Path) -> None:
    """Update the price table and the branch-interface facts from `catalog`; families it lacks keep their rows."""
    observed = load_json(catalog)["instanceTypes"]
    prices = fit_prices(observed, load_json(PRICES_FILE))
    PRICES_FILE.write_text(dump_prices(prices), encoding="utf-8")
    facts = load_json(FACTS_FILE)
    facts["branchInterfaces"] = fit_branch_interfaces(observed)
    FACTS_FILE.write_text(dump_by_line(facts, last="branchInterfaces"), encoding="utf-8")


def check(files: Mapping[Path, str]) -> int:
    """Compare contents, not compressed bytes: zlib versions compress differently."""
    stale = [path for path, text in files.items() if not path.exists() or read(path) != text]
    for path in stale:
        print(f"{path.relative_to(ROOT)}: out of date, run tools/build_catalog.py", file=sys.stderr)
    return 1 if stale else 0


def summary(types: Mapping[str, Any], prices: Mapping[str, Any]) -> str:
    """Return the counts a reviewer of a refresh wants to see."""
    records: dict[str, dict[str, Any]] = types["types"]
    lines = [f"{len(records)} instance types, {sum('retired' in r for r in records.values())} retired"]
    lines += [f"{region}: {sum(region in r['zones'] for r in records.values())}" for region in types["regions"]]
    unpriced = [name for name, record in records.items() if on_demand_price(prices, name, record) is None]
    lines.append(f"without price: {len(unpriced)}: {' '.join(unpriced)}")
    return "\n".join(lines)


def dump_by_line(document: Mapping[str, Any], *, last: str) -> str:
    """Return JSON with one line an entry of the (large, last) member, so that a refresh makes a readable diff."""
    head = [f"{dump(key)}: {dump(value)}" for key, value in document.items() if key != last]
    return "{\n" + ",\n".join([*head, f"{dump(last)}: {dump_lines(document[last])}"]) + "\n}\n"


def dump_prices(prices: Mapping[str, Any]) -> str:
    """Return the price table, one line a family and one a single type."""
    head = [f"{dump(key)}: {dump(value)}" for key, value in prices.items() if key not in {"families", "types"}]
    tables = [f"{dump(key)}: {dump_lines(prices[key])}" for key in ("families", "types")]
    return "{\n" + ",\n".join([*head, *tables]) + "\n}\n"


def dump_lines(value: Mapping[str, Any] | list[Any]) -> str:
    """Return a JSON object or array with one line an entry."""
    if isinstance(value, list):
        return "[\n" + ",\n".join(dump(entry) for entry in value) + "\n]"
    return "{\n" + ",\n".join(f"{dump(key)}: {dump(entry)}" for key, entry in value.items()) + "\n}"


def dump(value: object) -> str:
    """Return compact JSON; the order of keys is ours."""
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def load_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a plain or gzip-compressed file."""
    document: dict[str, Any] = json.loads(read(path))
    return document


def read(path: Path) -> str:
    """Return the text of a plain or gzip-compressed file."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")


def write(path: Path, text: str) -> None:
    """Write the text; a `.gz` file carries no time stamp and no name, so that equal contents give equal bytes."""
    data = text.encode("utf-8")
    path.write_bytes(gzip.compress(data, compresslevel=9, mtime=0) if path.suffix == ".gz" else data)


if __name__ == "__main__":
    raise SystemExit(main())
