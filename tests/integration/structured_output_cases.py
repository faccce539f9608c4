"""JSON schemas and regular expressions by script, and what hostile callers send."""

from __future__ import annotations

import json
import random
from typing import Any

WORDS = ("name", "age", "city", "tags", "price", "ok", "größe", "x-y", "a b", "id")
FORMATS = ("date", "time", "date-time", "email", "ipv4", "uuid", "uri")
PATTERNS = (r"^[A-Z]{2}\d{3}$", r"^(red|green|blue)$", r"^[a-z]+@[a-z]+\.com$", r"^\+?\d{1,3}$", r"^$")


def schema(random: random.Random, depth: int = 3) -> dict[str, Any]:
    """Any schema that the server keeps to."""
    simple = [_string, _integer, _number, _enum, _const, _constant_type]
    nested = [_object, _object, _array, _any_of, _tuple]
    return random.choice(simple if depth <= 0 else simple + 2 * nested)(random, depth - 1)


def whole_schema(random: random.Random) -> dict[str, Any]:
    """One with definitions, now and then."""
    if random.random() < 0.7:
        return _object(random, 3)
    return {
        "$defs": {
            "leaf": schema(random, 0),
            "node": {
                "type": "object",
                "properties": {"value": {"$ref": "#/$defs/leaf"}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
                "required": ["value"],
                "additionalProperties": False,
            },
        },
        "type": "object",
        "properties": {"list": {"$ref": "#/$defs/node"}, "leaf": {"$ref": "#/$defs/leaf"}},
        "required": ["list", "leaf"],
    }


def _string(random: random.Random, depth: int) -> dict[str, Any]:
    kind = random.randrange(4)
    if kind == 0:
        return {"type": "string", "pattern": random.choice(PATTERNS)}
    if kind == 1:
        return {"type": "string", "format": random.choice(FORMATS)}
    least = random.randrange(4)
    return {"type": "string", "minLength": least, "maxLength": least + random.randrange(12)}


def _integer(random: random.Random, depth: int) -> dict[str, Any]:
    bounds: dict[str, Any] = {"type": "integer"}
    low = random.randint(-1000, 1000)
    if random.random() < 0.7:
        bounds[random.choice(["minimum", "exclusiveMinimum"])] = low
    if random.random() < 0.7:
        bounds[random.choice(["maximum", "exclusiveMaximum"])] = low + random.randint(2, 5000)
    return bounds


def _number(random: random.Random, depth: int) -> dict[str, Any]:
    low = round(random.uniform(-50, 50), random.randrange(3))
    if random.random() < 0.3:
        return {"type": "number"}
    return {"type": "number", "minimum": low, "maximum": low + random.choice([0.5, 3, 100.25])}


def _enum(random: random.Random, depth: int) -> dict[str, Any]:
    values = [None, True, 0, -1.5, "", "größer", "a\"b\\", "two\nlines", [1, "x"], {"k": []}]
    return {"enum": random.sample(values, random.randint(1, 5))}


def _const(random: random.Random, depth: int) -> dict[str, Any]:
    return {"const": random.choice(["fixed", 42, None, [1, 2], {"a": False}])}


def _constant_type(random: random.Random, depth: int) -> dict[str, Any]:
    return {"type": random.choice(["boolean", "null", ["boolean", "null"]])}


def _object(random: random.Random, depth: int) -> dict[str, Any]:
    names = random.sample(WORDS, random.randint(1, 4))
    made: dict[str, Any] = {"type": "object", "properties": {name: schema(random, depth) for name in names}}
    made["required"] = random.sample(names, random.randint(0, len(names)))
    if random.random() < 0.4:
        made["additionalProperties"] = False
    elif random.random() < 0.2:
        made["additionalProperties"] = {"type": "integer"}
    return made


def _array(random: random.Random, depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "array", "items": schema(random, depth)}
    least = random.randrange(3)
    if random.random() < 0.8:
        made |= {"minItems": least, "maxItems": least + random.randrange(4)}
    return made


def _any_of(random: random.Random, depth: int) -> dict[str, Any]:
    return {"anyOf": [schema(random, depth) for _ in range(random.randint(1, 3))]}


def _tuple(random: random.Random, depth: int) -> dict[str, Any]:
    items = [schema(random, depth) for _ in range(random.randint(1, 3))]
    return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}


def regex(random: random.Random, depth: int = 3) -> str:
    """Any regular expression that means the same to the server and to Python."""
    if depth == 0 or random.random() < 0.3:
        return random.choice(["a", "bc", r"\d", "[a-z]", "[^x]", r"\.", "é", r"\w", "[A-F0-9]", r"\s", "€", "."])
    inner = regex(random, depth - 1)
    kind = random.randrange(6)
    if kind == 0:
        return inner + regex(random, depth - 1)
    if kind == 1:
        return f"(?:{inner}|{regex(random, depth - 1)})"
    if kind == 2:
        return f"({inner}){random.choice(['?', '{2}', '{1,3}', '{0,2}'])}"
    if kind == 3:
        return f"({random.choice(['[a-c]', 'ab', 'x|yz'])}){random.choice(['*', '+', '{2,}'])}"
    return f"{inner}-{regex(random, depth - 1)}"


def _nested(levels: int) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        made = {"type": "object", "properties": {"a": made}}
    return made


def hostile() -> dict[str, dict[str, Any]]:
    """Bodies by name. Some are compiled after all; none may take long."""
    many = {f"p{i}": {"type": "string"} for i in range(1500)}
    return {
        "repeated repetition": {"guided_regex": "(a{1,1000}){1,1000}"},
        "thrice": {"guided_regex": "((a{1,100}){1,100}){1,100}"},
        "any character": {"guided_regex": "[\\u0000-\\U0010ffff]{1,300}"},
        "long and any": {"guided_regex": ".{0,5000}x"},
        "ambiguous": {"guided_regex": r"(\w+\s?){1,200}"},
        "ambiguous stars": {"guided_regex": "((a*)*)*b" * 30},
        "many options": {"guided_regex": "a?" * 3000 + "a" * 3000},
        "deep groups": {"guided_regex": "(" * 5000 + "a" + ")" * 5000},
        "huge enum": {"guided_json": {"enum": [f"value number {i}" for i in range(20000)]}},
        "large enum": {"guided_json": {"enum": [f"v{i}" for i in range(6000)]}},
        "deep": {"guided_json": json.dumps(_nested(60))},
        "deeper": {"guided_json": json.dumps(_nested(400))},
        "many properties": {"guided_json": {"type": "object", "properties": many}},
        "counted properties": {"guided_json": {"type": "object", "properties": many, "minProperties": 700}},
        "itself": {"guided_json": {"$ref": "#"}},
        "doubling": {"guided_grammar": "\n".join(["root ::= r0", *(f"r{i} ::= r{i + 1} r{i + 1}" for i in range(2000)), 'r2000 ::= "a"'])},
        "left recursion": {"guided_grammar": 'root ::= root root | "a" | ""'},
        "no end": {"guided_grammar": "root ::= root"},
        "optional chain": {"guided_grammar": "\n".join(["root ::= r0", *(f'r{i} ::= r{i + 1} | r{i + 1} "x"' for i in range(600)), 'r600 ::= "a"'])},
    }
