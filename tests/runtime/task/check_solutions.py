"""Holds generated tasks to PyTorch, and synthesised kernels to both.

usage: check_solutions.py CORPUS_PROGRAM [--tasks N] [--seed N] [--all]
                          [--times]

The result of every generated task must depend on each of its inputs. A sample of
the tasks is drawn that covers every operator. For each, the reference is run: shapes, strides and parameters must be those that the task
says without Python. Every solution is compiled as the verifier does and must
agree within its tolerances on plain, signed and scaled inputs. Exits 1 and
names each task that fails. --times prints how fast the strategies are.
"""

import argparse
import collections
import ctypes
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch  # noqa: E402

FLAGS = "-std=c++20 -O3 -march=native -ffast-math -fopenmp -shared -fPIC".split()
PRELUDE = "".join(
    f"#include <{name}>\n"
    for name in ("cmath", "cstdint", "algorithm", "immintrin.h", "omp.h", "vector")
)
CASES = ("plain", "signed", "large", "small")
SCALES = {"large": 16.0, "small": 1 / 64}
TOLERANCE = 1e-4


def sample(rows, count, seed):
    """A sample in which every operator occurs, with all its strategies."""
    random.seed(seed)
    random.shuffle(rows)
    covered, first, rest = collections.Counter(), [], []
    for row in rows:
        new = any(covered[tag] < 1 for tag in row["tags"])
        (first if new else rest).append(row)
        covered.update(row["tags"])
    return (first + rest)[: max(count, len(first))]


def compile_all(sources, folder):
    """One library per part, every kernel under its own name in it."""
    parts = max(1, min(len(sources) // 20, 64))
    libraries, running = [], []
    for part in range(parts):
        text = PRELUDE
        for index in range(part, len(sources), parts):
            text += sources[index].replace("void kernel(", f"void k{index}(", 1)
        file = folder / f"part{part}.cpp"
        file.write_text(text)
        library = folder / f"part{part}.so"
        command = ["g++", *FLAGS, str(file), "-o", str(library), "-lmvec", "-lm"]
        running.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        libraries.append(library)
        if len(running) >= 2:
            finish(running.pop(0))
    for process in running:
        finish(process)
    loaded = [ctypes.CDLL(str(library)) for library in libraries]
    return [getattr(loaded[i % parts], f"k{i}") for i in range(len(sources))]


def finish(process):
    _, text = process.communicate()
    if process.returncode != 0:
        sys.exit("a solution does not compile:\n" + text[:4000])


def load(source):
    module = {}
    exec(compile(source, "task", "exec"), module)
    return module


def stressed(tensor, kind):
    # A clone would lose the gaps of a sliced view.
    out = torch.empty_strided(tensor.shape, tensor.stride()).copy_(tensor)
    if kind == "signed":
        return out.mul_(torch.randint(0, 2, tensor.shape) * 2.0 - 1)
    return out.mul_(SCALES.get(kind, 1.0))


def specs_differ(said, tensors, strides=True):
    if len(said) != len(tensors):
        return f"{len(tensors)} tensors, the task says {len(said)}"
    for spec, tensor in zip(said, tensors):
        found = [] if tensor.is_contiguous() else list(tensor.stride())
        if list(tensor.shape) != spec["shape"]:
            return f"shape {list(tensor.shape)}, the task says {spec['shape']}"
        if strides and found != spec["strides"]:
            return f"strides {found}, the task says {spec['strides']}"
        if tensor.dtype != torch.float32:
            return f"type {tensor.dtype}"
    return None


def call(kernel, inputs, state, output, sizes):
    kernel.restype = None
    kernel(
        *(ctypes.c_void_p(x.data_ptr()) for x in [*inputs, *state, output]),
        *(ctypes.c_int64(n) for n in sizes),
    )


def worst(got, want):
    """How many times the tolerance the largest difference is."""
    size = min(1.0, want.square().mean().sqrt().item())
    room = TOLERANCE * (size + want.abs())
    gap = (got - want).abs()
    if not got.isfinite().all():
        return float("inf")
    return (gap / room.clamp(min=1e-30)).max().item() if gap.any() else 0.0


def ignored_inputs(row):
    """The inputs that a kernel could leave alone and still be within tolerance."""
    module = load(row["reference"])
    torch.manual_seed(random.getrandbits(40))
    model = module["Model"](*module["get_init_inputs"]())

    def ignored(index, inputs, want):
        # A mean of many elements is nearly the same for all draws of one scale.
        for scale in (1.0, *SCALES.values()):
            other = list(inputs)
            other[index] = module["get_inputs"]()[index] * scale
            if worst(model(*other), want) > 1:
                return False
        return True

    with torch.no_grad():
        inputs = module["get_inputs"]()
        want = model(*inputs)
        return [i for i in range(len(inputs)) if ignored(i, inputs, want)]


class Checked:
    """A task with its reference loaded."""

    def __init__(self, row):
        self.row = row
        torch.manual_seed(random.getrandbits(40))
        self.module = load(row["reference"])
        self.model = self.module["Model"](*self.module["get_init_inputs"]())
        self.state = [x.detach() for x in self.model.state_dict().values()]
        self.double = self.module["Model"](*self.module["get_init_inputs"]()).double()
        self.double.load_state_dict(self.model.state_dict())

    def problem(self):
        inputs = self.module["get_inputs"]()
        with torch.no_grad():
            output = self.model(*inputs)
        names = list(self.model.state_dict())
        if names != [spec["name"] for spec in self.row["state"]]:
            return f"parameters {names}"
        if output.numel() > 1 and output.std() < 1e-6 * output.abs().max():
            return "the result is constant"
        return (
            specs_differ(self.row["inputs"], inputs)
            or specs_differ(self.row["state"], self.state)
            or specs_differ(self.row["outputs"], [output])
        )

    def case(self, kind):
        """Inputs and result, or None where single precision does not hold."""
        inputs = [stressed(x, kind) for x in self.module["get_inputs"]()]
        with torch.no_grad():
            want = self.model(*inputs)
            exact = self.double(*(x.double() for x in inputs))
        if not want.isfinite().all():
            return None
        size = exact.square().mean().sqrt().clamp(max=1.0)
        room = 0.25 * TOLERANCE * (size + exact.abs())
        if not ((want.double() - exact).abs() <= room).all():
            return None
        return inputs, want


def seconds(call_once, count=5):
    times = []
    for _ in range(count):
        start = time.perf_counter()
        call_once()
        times.append(time.perf_counter() - start)
    return sorted(times)[count // 2]


def check(rows, folder, measure):
    flat = [(row, s) for row in rows for s in row["solutions"]]
    kernels = iter(compile_all([s["source"] for _, s in flat], folder))
    failures, skipped, speed = [], 0, collections.defaultdict(list)
    for row in rows:
        task = Checked(row)
        mine = [(s, next(kernels)) for s in row["solutions"]]
        problem = task.problem()
        if problem:
            failures.append(f"{row['id']} ({row['program']}): {problem}")
            continue
        for kind in CASES:
            case = task.case(kind)
            if case is None:
                skipped += 1
                if kind == "plain":
                    failures.append(f"{row['id']} ({row['program']}): unstable")
                continue
            inputs, want = case
            before = [x.clone() for x in inputs]
            for solution, kernel in mine:
                output = torch.full(want.shape, float("nan"))
                call(kernel, inputs, task.state, output, row["sizes"])
                off = worst(output, want)
                if off > 1 or any(
                    not torch.equal(a, b) for a, b in zip(before, inputs)
                ):
                    failures.append(
                        f"{row['id']} ({row['program']}) {solution['strategy']} "
                        f"{kind}: {off:.2f} times the tolerance"
                    )
        if measure:
            inputs = task.module["get_inputs"]()
            output = torch.empty(row["outputs"][0]["shape"])
            with torch.no_grad():
                eager = seconds(lambda: task.model(*inputs))
            for solution, kernel in mine:
                took = seconds(
                    lambda: call(kernel, inputs, task.state, output, row["sizes"])
                )
                speed[(row["level"], solution["strategy"])].append(eager / took)
                speed[("eager us", row["level"])].append(eager * 1e6)
    return failures, skipped, speed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--tasks", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--times", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    text = subprocess.check_output([arguments.program], text=True)
    rows = [json.loads(line) for line in text.splitlines()]
    idle = [
        f"{row['id']} ({row['program']}): the result ignores inputs {found}"
        for row in rows
        if (found := ignored_inputs(row))
    ]
    if not arguments.all:
        rows = sample(rows, arguments.tasks, arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        failures, skipped, speed = check(
            rows, pathlib.Path(folder), arguments.times
        )
    failures += idle
    for failure in failures:
        print(failure)
    for key, values in sorted(speed.items(), key=str):
        values.sort()
        share = sum(v > 1.1 for v in values) / len(values)
        print(key, f"median {values[len(values) // 2]:.2f}, over 1.1: {share:.2f}")
    operators = {tag for row in rows for tag in row["tags"]}
    solutions = sum(len(row["solutions"]) for row in rows)
    print(
        f"{len(rows)} tasks, {solutions} solutions, {len(operators)} operators: "
        f"{len(failures)} failures, {skipped} unstable cases left out"
    )
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
