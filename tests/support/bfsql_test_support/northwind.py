"""A trading company in 14 tables, of the shape of many databases.

Integer keys start at 1 in every table; two keys are composite; a table refers to itself, names are
in columns of different names, and one table has a reserved word as its name.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """One table, or the nodes of one label."""

    key: tuple[str, ...]
    """The columns of the primary key."""
    rows: Sequence[Row]
    """Each with all columns of the table, in the same order."""
    references: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Column to the referenced table and the name of the relationship."""


def northwind(orders: int = 40) -> dict[str, Table]:
    """The tables by name, referenced tables first; the same for each call.

    Args:
        orders: The number of orders; the other tables do not depend on it, except order lines and
            payments.
    """
    at = random.Random(0)

    def rows(number: int, key: str, **columns: Any) -> list[Row]:
        """Rows with keys from 1; a column is a function of the key, or a list that is repeated."""
        return [
            {key: n}
            | {
                name: column(n) if callable(column) else column[(n - 1) % len(column)]
                for name, column in columns.items()
            }
            for n in range(1, number + 1)
        ]

    def any_of(number: int) -> Any:
        return lambda _: at.randint(1, number)

    cities = ["London", "Lyon", "Berlin", "Seattle", "Buenos Aires"]
    countries = ["UK", "France", "Germany", "USA", "Argentina"]
    first = ["Nancy", "Andrew", "Janet", "Margaret", "Steven", "Michael", "Robert", "Laura", "Anne"]
    last = ["Davolio", "Fuller", "Leverling", "Peacock", "Buchanan", "Suyama", "King", "Callahan"]
    goods = ["Chai", "Syrup", "Gumbo Mix", "Dried Pears", "Cheese", "Lager", "Tofu", "Salmon"]
    categories = ["Beverages", "Condiments", "Confections", "Dairy Products", "Seafood", "Produce"]
    companies = ["Exotic Liquids", "Alfreds Kost", "Island Trading", "Familia Arquibaldo"]
    states = ["Washington", "Oregon", "California", "Idaho", "Nevada"]
    details = [
        {"orderID": order, "productID": product}
        | {"quantity": at.randint(1, 60), "discount": at.choice([0.0, 0.05, 0.1])}
        for order in range(1, orders + 1)
        for product in sorted(at.sample(range(1, 25), at.randint(1, 4)))
    ]
    return {
        "Region": Table(
            ("regionID",),
            rows(4, "regionID", regionDescription=["Eastern", "Western", "Northern", "Southern"]),
        ),
        "Territory": Table(
            ("territoryID",),
            rows(
                12,
                "territoryID",
                territoryDescription=lambda n: f"District {n}",
                regionID=any_of(4),
            ),
            {"regionID": ("Region", "IN_REGION")},
        ),
        "State": Table(
            ("stateID",),
            rows(5, "stateID", stateName=states, regionID=any_of(4)),
            {"regionID": ("Region", "STATE_OF")},
        ),
        "Employee": Table(
            ("employeeID",),
            rows(
                9,
                "employeeID",
                lastName=lambda n: last[n % 8] if n > 1 else "Dodsworth",
                firstName=first,
                title=["Sales Representative", "Sales Representative", "Sales Manager"],
                reportsTo=lambda n: None if n == 2 else 2 if n < 6 else 5,
            ),
            {"reportsTo": ("Employee", "REPORTS_TO")},
        ),
        "EmployeeTerritory": Table(
            ("employeeID", "territoryID"),
            [
                {"employeeID": employee, "territoryID": territory}
                for employee in range(1, 10)
                for territory in sorted(at.sample(range(1, 13), 2))
            ],
            {"employeeID": ("Employee", "OF_EMPLOYEE"), "territoryID": ("Territory", "COVERS")},
        ),
        "Category": Table(("categoryID",), rows(6, "categoryID", categoryName=categories)),
        "Supplier": Table(
            ("supplierID",),
            rows(8, "supplierID", companyName=lambda n: f"Supplier House {n}", city=cities),
        ),
        "Product": Table(
            ("productID",),
            rows(
                24,
                "productID",
                productName=lambda n: f"{goods[n % 8]} {n}",
                unitPrice=lambda n: n * 2.5,
                discontinued=lambda n: n % 7 == 0,
                supplierID=any_of(8),
                categoryID=any_of(6),
            ),
            {"supplierID": ("Supplier", "SUPPLIED_BY"), "categoryID": ("Category", "PART_OF")},
        ),
        "Segment": Table(
            ("segmentID",), rows(3, "segmentID", segmentDescription=["Retail", "Hotels", "Export"])
        ),
        "Customer": Table(
            ("customerID",),
            rows(
                15,
                "customerID",
                companyName=lambda n: f"{companies[n % 4]} {n}",
                city=cities,
                country=countries,
                segmentID=any_of(3),
            ),
            {"segmentID": ("Segment", "IN_SEGMENT")},
        ),
        "Shipper": Table(
            ("shipperID",),
            rows(
                3, "shipperID", companyName=["Speedy Express", "United Package", "Federal Shipping"]
            ),
        ),
        "Order": Table(
            ("orderID",),
            rows(
                orders,
                "orderID",
                orderDate=lambda n: f"1997-{1 + n % 12:02}-{1 + n % 28:02}",
                freight=lambda n: round(n * 1.75, 2),
                shipCity=cities,
                customerID=any_of(15),
                employeeID=any_of(9),
                shipperID=any_of(3),
            ),
            {
                "customerID": ("Customer", "ORDERED_BY"),
                "employeeID": ("Employee", "SOLD_BY"),
                "shipperID": ("Shipper", "SHIPPED_BY"),
            },
        ),
        "OrderDetail": Table(
            ("orderID", "productID"),
            details,
            {"orderID": ("Order", "LINE_OF"), "productID": ("Product", "OF_PRODUCT")},
        ),
        "Payment": Table(
            ("paymentID",),
            rows(
                orders,
                "paymentID",
                amount=lambda n: n * 10.0,
                method=["card", "transfer", "cheque"],
                orderID=lambda n: n,
            ),
            {"orderID": ("Order", "PAYS")},
        ),
    }
