"""Prices, and what has none left.

moto knows every instance type and where it is offered, but no price: here one follows from the facts of the type, so
that larger costs more and families differ. They are not AWS's prices, on purpose: whoever shows them got them from this
Pricing API and not from a table of its own.
"""

import json
import zlib
from datetime import datetime, timezone
from threading import Lock

from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS, INSTANCE_TYPES

from place import REGION

# US dollars an hour.
PER_VCPU = 0.0310
PER_GIB = 0.0042
PER_ACCELERATOR = 0.65
# How far a family may be above that, and which share of the on-demand price spot costs at least and at most.
FAMILY_SPREAD = 0.20
SPOT_SHARE = (0.28, 0.46)

PAGE = 100


def _part(*words: str) -> float:
    """A number in [0, 1) that depends on the words alone."""
    return (zlib.crc32("/".join(words).encode()) % 10_000) / 10_000


def on_demand(instance_type: str) -> float:
    """US dollars an hour."""
    facts = INSTANCE_TYPES[instance_type]
    accelerators = sum(
        device.get("Count", 0)
        for kind, devices in (("GpuInfo", "Gpus"), ("InferenceAcceleratorInfo", "Accelerators"), ("NeuronInfo", "NeuronDevices"))
        for device in facts.get(kind, {}).get(devices, [])
    )
    base = (
        facts["VCpuInfo"]["DefaultVCpus"] * PER_VCPU
        + facts["MemoryInfo"]["SizeInMiB"] / 1024 * PER_GIB
        + accelerators * PER_ACCELERATOR
    )
    return round(base * (1 + FAMILY_SPREAD * _part(instance_type.split(".")[0])), 5)


def spot(instance_type: str, zone: str) -> float:
    """US dollars an hour."""
    low, high = SPOT_SHARE
    return round(on_demand(instance_type) * (low + (high - low) * _part(instance_type, zone)), 6)


def price(instance_type: str, zone: str, capacity_type: str) -> float:
    """US dollars an hour."""
    return spot(instance_type, zone) if capacity_type == "spot" else on_demand(instance_type)


def is_offered(instance_type: str, zone: str) -> bool:
    return (instance_type, zone) in _OFFERED


_OFFERED = {
    (offering["InstanceType"], offering["Location"])
    for offering in INSTANCE_TYPE_OFFERINGS["availability-zone"].get(REGION, [])
}


class Shortage:
    """Which offerings fail, and with which error code. `*` stands for any type, zone or way to buy."""

    def __init__(self):
        self._lock = Lock()
        self._codes: dict[tuple[str, str, str], str] = {}

    def set(self, offerings: list[dict]) -> None:
        codes = {
            (o.get("instanceType", "*"), o.get("zone", "*"), o.get("capacityType", "*")): o.get(
                "code", "InsufficientInstanceCapacity"
            )
            for o in offerings
        }
        with self._lock:
            self._codes = codes

    def code(self, instance_type: str, zone: str, capacity_type: str) -> str | None:
        with self._lock:
            for kind in (instance_type, "*"):
                for place in (zone, "*"):
                    for bought in (capacity_type, "*"):
                        if code := self._codes.get((kind, place, bought)):
                            return code
        return None


SHORTAGE = Shortage()


def spot_price_history(backend, instance_types, filters) -> list[dict]:
    """One row an offering, as of now: what DescribeSpotPriceHistory answers for `StartTime` now."""
    now = datetime.now(timezone.utc).replace(microsecond=0)
    products = filters.get("product-description") or ["Linux/UNIX"]
    filters = {key: values for key, values in filters.items() if key != "product-description"}
    offerings = backend.describe_spot_price_history(instance_types, filters)
    return [
        {
            "InstanceType": o["InstanceType"],
            "ProductDescription": products[0],
            "SpotPrice": f"{spot(o['InstanceType'], o['Location']):.6f}",
            "AvailabilityZone": o["Location"],
            "Timestamp": now,
        }
        for o in offerings
        if "spot" in INSTANCE_TYPES.get(o["InstanceType"], {}).get("SupportedUsageClasses", ["spot"])
        and o["InstanceType"] in INSTANCE_TYPES
    ]


def get_products(request: dict) -> dict:
    """The Pricing API's GetProducts for AmazonEC2: on-demand Linux prices, a page at a time."""
    wanted = {f["Field"]: f["Value"] for f in request.get("Filters", [])}
    tenancy = wanted.get("tenancy", "Shared")
    names = sorted(
        name
        for name, facts in INSTANCE_TYPES.items()
        if wanted.get("instanceType", name) == name and (tenancy == "Shared") != bool(facts.get("BareMetal"))
    )
    if wanted.get("regionCode", REGION) != REGION or wanted.get("operatingSystem", "Linux") != "Linux":
        names = []
    start = int(request.get("NextToken") or 0)
    size = min(int(request.get("MaxResults") or PAGE), PAGE)
    answer = {"FormatVersion": "aws_v1", "PriceList": [_product(name, tenancy) for name in names[start : start + size]]}
    if start + size < len(names):
        answer["NextToken"] = str(start + size)
    return answer


def _product(name: str, tenancy: str) -> str:
    sku = f"{zlib.crc32(name.encode()):08X}OUTRIGGER"[:16]
    offer, rate = f"{sku}.JRTCKXETXF", f"{sku}.JRTCKXETXF.6YS6EN2CT7"
    return json.dumps(
        {
            "product": {
                "productFamily": "Compute Instance",
                "sku": sku,
                "attributes": {
                    "instanceType": name,
                    "regionCode": REGION,
                    "operatingSystem": "Linux",
                    "tenancy": tenancy,
                    "preInstalledSw": "NA",
                    "capacitystatus": "Used",
                    "marketoption": "OnDemand",
                    "usagetype": f"BoxUsage:{name}",
                    "operation": "RunInstances",
                },
            },
            "serviceCode": "AmazonEC2",
            "terms": {
                "OnDemand": {
                    offer: {
                        "sku": sku,
                        "offerTermCode": "JRTCKXETXF",
                        "priceDimensions": {
                            rate: {
                                "unit": "Hrs",
                                "rateCode": rate,
                                "beginRange": "0",
                                "endRange": "Inf",
                                "pricePerUnit": {"USD": f"{on_demand(name):.10f}"},
                            }
                        },
                    }
                }
            },
        }
    )
