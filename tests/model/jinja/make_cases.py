#!/usr/bin/env python3
"""Writes cases.json: what Python's Jinja makes of jinja_cases.py, in the environment that transformers gives chat templates.

usage: make_cases.py > cases.json
"""
import datetime
import json
import sys

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox
from jinja_cases import cases

NOW = datetime.datetime(2026, 2, 3, 4, 5, 6)


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_inside"), [], [], body).set_lineno(line)

    def _inside(self, caller):
        return caller()


class Raised(Exception):
    pass


def raise_exception(message):
    raise Raised(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    made = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = NOW.strftime
    return made


def outcome(made, template, variables):
    try:
        return {"expected": made.from_string(template).render(**variables)}
    except Raised as error:
        return {"raised": str(error)}
    except Exception:  # whatever Python says, it gives no text
        return {"refused": True}


def main():
    made = environment()
    rows = [dict(name=name, template=template, variables=variables, **outcome(made, template, variables))
            for name, template, variables in cases()]
    json.dump(rows, sys.stdout, ensure_ascii=False, indent=1)
    print()


if __name__ == "__main__":
    main()
