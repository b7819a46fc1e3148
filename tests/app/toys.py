"""A small catalogue of one's own: three sizes at a straight price, spot at a quarter of it."""

from typing import Any


def a_type(name: str, cpu: int, gib: int, price: float) -> dict[str, Any]:
    places = [(zone, kind) for zone in ("a", "b") for kind in ("on-demand", "spot")]
    return {
        "name": name,
        "requirements": [
            {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
            {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
        ],
        "offerings": [
            {
                "price": price if kind == "on-demand" else price * 0.25,
                "requirements": [
                    {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]},
                    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": [kind]},
                ],
            }
            for zone, kind in places
        ],
        "capacity": {"cpu": str(cpu), "memory": f"{gib}Gi", "pods": "110"},
    }


CATALOG = {
    "name": "toy",
    "instanceTypes": [a_type("small", 2, 8, 0.1), a_type("medium", 4, 16, 0.2), a_type("large", 8, 32, 0.4)],
}
