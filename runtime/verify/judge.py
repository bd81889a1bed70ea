"""The judge: draws inputs and computes what is right. A trusted child of the
engine; it never sees a candidate, its code, or what it produced.

usage: judge.py FD

FD is one end of a Unix stream socket; judge_channel.py has its messages.
Requests and their replies ({"ok": true, ...} or {"ok": false, "kind": KIND,
"what": TEXT}, KIND one of unknown, task_invalid, failed):

  load     key, source, seed  -> signature, kinds, forward_s
  inputs   key, cases, inputs, state, keep, more  (fd)  fills inputs and state;
           "keep" them for `outputs`, with what was kept before if "more"
  outputs  key, cases, outputs        (fd)  fills what the reference gives
  mutants  source, most   -> mutants: [what, source] of altered references
  altered  key, seed, source, cases, outputs  (fd)  fills what an altered
           reference gives for the same inputs and state
  answers  key, answer, cases, outputs  (fd)  fills what needs no computing:
           "zeros", the "mean" of each result, what is right for "another
           input", or the "input" itself
  forget   key
  program  key, operators  -> program: what the reference computes, as a program
           of the operator table's rows; "" where they do not say it

`cases` is a list of {seed, kind, base, change?, state?}: seeds as decimal
strings; `inputs`, `state` and `outputs` are offsets of each tensor from a
case's base in the file. "state" names the seed that the state is drawn from
where it is not the case's own; "change" the seed of the later elements.
"""

import os
import sys
import traceback
from collections import OrderedDict

import torch

from judge_answers import answer
from judge_channel import Channel, Mapping
from judge_mutants import mutants
from judge_reference import Reference
from judge_settings import keep_memory, limit_memory, restore
from judge_task import (
    DTYPES,
    SOURCE_NAME,
    ProtocolError,
    TaskInvalid,
    is_finite,
    seed_everything,
)

MAX_TASKS = 64
MAX_TASK_BYTES = 1 << 30
MAX_MAPPINGS = 4
MAX_KEPT_BYTES = 64 << 20


class UnknownTask(Exception):
    """Not loaded, or forgotten since: the engine sends the source again."""


class Mappings:
    """The files that were used last, mapped: they come again and again. A file
    is known by its number, which is its own as long as it is mapped."""

    def __init__(self):
        self.kept = OrderedDict()

    def of(self, fd):
        what = os.fstat(fd)
        key = what.st_dev, what.st_ino
        if key not in self.kept:
            while len(self.kept) >= MAX_MAPPINGS:
                self.kept.popitem(last=False)[1].close()
            self.kept[key] = Mapping(fd, what.st_size)
        self.kept.move_to_end(key)
        return self.kept[key]

    def drop_large(self):
        for key in [k for k, x in self.kept.items() if x.size > MAX_KEPT_BYTES]:
            self.kept.pop(key).close()


class Judge:
    def __init__(self):
        self.tasks = OrderedDict()
        # Inputs that were drawn last: what is right is computed from them
        # shortly after, and drawing costs more than computing does.
        self.kept = {}
        self.files = Mappings()
        self.rows = None

    def load(self, message, fds):
        key = message["key"]
        reference = self.tasks.get(key)
        if reference is None:
            reference = Reference(message["source"], int(message["seed"]))
            self.tasks[key] = reference
            self.shrink()
        self.tasks.move_to_end(key)
        return {
            "signature": reference.signature,
            "kinds": reference.kinds,
            "facts": reference.facts(),
            "can_splice": reference.can_splice,
            "forward_s": reference.forward_s,
        }

    def shrink(self):
        """Forgets the tasks that were not asked for longest."""
        while len(self.tasks) > 1 and (
            len(self.tasks) > MAX_TASKS
            or sum(x.bytes() for x in self.tasks.values()) > MAX_TASK_BYTES
        ):
            self.tasks.popitem(last=False)

    def inputs(self, message, fds):
        reference = self.find(message)
        if not message.get("more"):
            self.kept.clear()
        file = self.files.of(fds[0])
        for case in message["cases"]:
            base = case["base"]
            tensors = self.drawn(reference, case)
            file.put(tensors, base, message["inputs"])
            if message.get("keep"):
                self.kept[self.name(message, case)] = tensors
            if message.get("state") is not None:
                reference.draw_state(int(case.get("state", case["seed"])))
                state = [x.contiguous() for _, x, _ in reference.state]
                file.put(state, base, message["state"])
        return {}

    def outputs(self, message, fds):
        reference = self.find(message)
        file = self.files.of(fds[0])
        for case in message["cases"]:
            # The reference may write to them, so they serve only once.
            tensors = self.kept.pop(self.name(message, case), None)
            if tensors is None:
                tensors = self.drawn(reference, case)
            results = self.computed(reference, tensors, case)
            self.check(reference, results)
            file.put(results, case["base"], message["outputs"])
        return {}

    def computed(self, reference, tensors, case):
        reference.draw_state(int(case.get("state", case["seed"])))
        return reference.outputs(tensors, int(case["seed"]))

    def mutants(self, message, fds):
        return {"mutants": mutants(message["source"], message["most"])}

    def altered(self, message, fds):
        reference = self.find(message)
        # The seed that the reference was loaded with, and none of its checks:
        # one that does no work is as good as another.
        other = Reference(
            message["source"], int(message["seed"]), reference.facts()
        )
        file = self.files.of(fds[0])
        for case in message["cases"]:
            tensors = self.drawn(reference, case)
            results = self.computed(other, tensors, case)
            self.check_form(reference, results)
            file.put(results, case["base"], message["outputs"])
        return {}

    def answers(self, message, fds):
        reference = self.find(message)
        file = self.files.of(fds[0])
        for case in message["cases"]:
            given = self.drawn(reference, case)
            if message["answer"] == "another input":
                case = dict(case, state=case.get("state", case["seed"]))
                case["seed"] = str(int(case["seed"]) ^ 1)
            tensors = self.drawn(reference, case)
            results = self.computed(reference, tensors, case)
            results = answer(message["answer"], given, results)
            self.check_form(reference, results)
            file.put(results, case["base"], message["outputs"])
        return {}

    def check_form(self, reference, results):
        wanted = [
            (x["dtype"], x["shape"]) for x in reference.signature["outputs"]
        ]
        got = [(DTYPES.get(x.dtype), list(x.shape)) for x in results]
        if got != wanted:
            raise TaskInvalid(f"its results are {got}, not {wanted}")

    def name(self, message, case):
        return (
            message["key"],
            case["seed"],
            case.get("kind"),
            case.get("change"),
        )

    def drawn(self, reference, case):
        change = case.get("change")
        return reference.inputs(
            int(case["seed"]),
            case.get("kind", "plain"),
            None if change is None else int(change),
        )

    def check(self, reference, results):
        for spec, value in zip(reference.signature["outputs"], results):
            if list(value.shape) != spec["shape"]:
                raise TaskInvalid(
                    f"the shape of result '{spec['name']}' depends on the "
                    f"values of the inputs: {spec['shape']}, then "
                    f"{list(value.shape)}"
                )
            if not is_finite(value):
                raise TaskInvalid(
                    f"the reference's result '{spec['name']}' is not finite "
                    "for some of its inputs"
                )

    def forget(self, message, fds):
        self.tasks.pop(message["key"], None)
        return {}

    def program(self, message, fds):
        # Here, since tracing imports for seconds what nothing else needs.
        from judge_program import Row, read_program

        reference = self.find(message)
        restore()
        if self.rows is None:
            self.rows = [Row(row) for row in message["operators"]]
        return {"program": read_program(reference, self.rows)}

    def find(self, message):
        key = message["key"]
        if key not in self.tasks:
            raise UnknownTask(key)
        self.tasks.move_to_end(key)
        return self.tasks[key]

    def answer(self, message, fds):
        handlers = {
            "load": self.load,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "mutants": self.mutants,
            "altered": self.altered,
            "answers": self.answers,
            "forget": self.forget,
            "program": self.program,
            "about": lambda message, fds: {"torch": torch.__version__},
        }
        if message.get("op") not in handlers:
            return refusal("failed", f"no such request: {message.get('op')}")
        try:
            return dict(handlers[message["op"]](message, fds), ok=True)
        except TaskInvalid as reason:
            return refusal("task_invalid", str(reason))
        except UnknownTask as reason:
            return refusal("unknown", f"task {reason} is not loaded")
        except (ProtocolError, MemoryError) as reason:
            return refusal("failed", f"{type(reason).__name__}: {reason}")
        except BaseException as reason:
            # Raised by the task's own code, wherever that was called.
            return refusal("task_invalid", told(reason))


def told(reason):
    """What the task's code raised, and in which of its lines."""
    line, text = None, str(reason)
    for frame in traceback.extract_tb(reason.__traceback__):
        if frame.filename == SOURCE_NAME:
            line = frame.lineno
    if isinstance(reason, SyntaxError) and reason.filename == SOURCE_NAME:
        line, text = reason.lineno, reason.msg
    where = f" in line {line}" if line else ""
    return f"the reference raises {type(reason).__name__}{where}: {text}"[:600]


def refusal(kind, what):
    return {"ok": False, "kind": kind, "what": what}


def main():
    limit_memory()
    keep_memory()
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    restore()
    seed_everything(0)
    channel = Channel(int(sys.argv[1]))
    channel.end_with_engine()
    judge = Judge()
    channel.send({"ok": True})
    while (received := channel.receive()) is not None:
        message, fds = received
        try:
            channel.send(judge.answer(message, fds))
            judge.files.drop_large()
        finally:
            for fd in fds:
                os.close(fd)


if __name__ == "__main__":
    main()
