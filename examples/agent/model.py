"""The model: scripted, so that it says the same each time. Of a real one, each function would be a call.

A real model says something else each time it is asked. That does no harm: what it has said is kept as a step.
"""

import re
from typing import Any, TypedDict


class Call(TypedDict):
    """A tool that the model wants to be called."""

    tool: str
    arguments: dict[str, Any]


class Said(TypedDict):
    """One answer of the model: calls of tools or, without any, its last word."""

    text: str
    calls: list[Call]
    tokens: int


class Plan(TypedDict):
    """What the model makes of a wish."""

    town: str
    day: str
    people: int
    steps: list[str]


def plan(wish: str) -> Plan:
    """Make a plan of a wish such as "Two of us to Lisbon on Friday"."""
    town = re.search(r"\b(?:to|in) ([A-Z]\w+)", wish)
    day = re.search(r"\bon (\w+day)", wish)
    people = {"one": 1, "two": 2, "three": 3, "four": 4}.get(wish.partition(" ")[0].lower(), 1)
    steps = [
        "look for a train and a room",
        "ask whether that is welcome",
        "book and pay",
        "tell the traveller",
    ]
    return Plan(town=town[1] if town else "Rome", day=day[1] if day else "Monday", people=people, steps=steps)


def think(plan: Plan, results: dict[str, Any]) -> Said:
    """Say what to do next, after what the tools have answered so far."""
    trip = {"town": plan["town"], "day": plan["day"], "people": plan["people"]}
    if "find_room" not in results:
        return _say("I look for a train and a room.", ("find_train", trip), ("find_room", trip))
    price = results["find_train"]["price"] + results["find_room"]["price"]
    if "ask_person" not in results:
        offer = f"{plan['town']} on {plan['day']} for {plan['people']}: {price} euros"
        return _say("This costs money, so I ask.", ("ask_person", {"question": offer}))
    if not results["ask_person"]["approved"]:
        return _say(f"Nothing is booked: {results['ask_person']['why']}.")
    if "book" not in results:
        return _say("I book both.", ("book", trip))
    if "pay" not in results:
        return _say("I pay.", ("pay", {"booking": results["book"]["booking"], "amount": price}))
    text = f"{plan['town']}, {plan['day']}: booking {results['book']['booking']}, {results['pay']['receipt']}"
    if "send_mail" not in results:
        return _say("I tell the traveller.", ("send_mail", {"text": text}))
    return _say(text)


def _say(text: str, *calls: tuple[str, dict[str, Any]]) -> Said:
    wanted = [Call(tool=tool, arguments=arguments) for tool, arguments in calls]
    return Said(text=text, calls=wanted, tokens=10 * len(text.split()))
