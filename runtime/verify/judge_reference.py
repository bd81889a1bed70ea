"""A loaded reference: draws its cases, runs them, says what a candidate gets."""

import copy
import inspect
import time

import torch

from judge_settings import restore
from judge_splice import TOGETHER, keep_traits, spliced
from judge_task import (
    DTYPES,
    LARGE_BYTES,
    SLOW_S,
    STRESS,
    Names,
    TaskInvalid,
    construct,
    describe,
    elapsed,
    flatten,
    is_finite,
    load_module,
    perturb,
    rebuild,
    same_structure,
    seed_everything,
    stressed,
    tensors_of,
)

# What get_inputs may return beside tensors: constants of the task.
SCALARS = (bool, int, float, str, type(None), tuple, list, torch.dtype)

# States up to this size are remembered by their seed, so many of them.
SMALL_BYTES, MAX_REMEMBERED = 1 << 20, 32

# Separates the streams that one case's seed makes.
INPUT_STREAM, STATE_STREAM, STRESS_STREAM = 0x1D, 0x57, 0x5C
FORWARD_STREAM, CHANGE_STREAM = 0xF0, 0xC4


def mixed(seed, stream):
    """A seed for one purpose out of a case's seed (splitmix64's finaliser)."""
    z = (int(seed) + stream * 0x9E3779B97F4A7C15) & (2**64 - 1)
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
    return z ^ (z >> 31)


class Reference:
    """@raises TaskInvalid if the task cannot be judged.

    With `facts`, which another process found out about the same task, the
    reference is not run while it is loaded."""

    def __init__(self, source, seed, facts=None):
        self.dtype = torch.float32
        self._begin(seed)
        self.module = load_module(source)
        self.dtype = torch.get_default_dtype()
        self._begin(seed)
        self.model = construct(self.module, seed)
        self.parameters = list(inspect.signature(self.model.forward).parameters)
        self.state = tensors_of(self.model)
        self.initial = [tensor.clone() for _, tensor, _ in self.state]
        self.places = [self._place(name) for name, _, _ in self.state]
        self.held = [getattr(*place) for place in self.places]
        self.structure = None
        self.changed_inputs = []
        self.changed_state = []
        self.free_state = []
        self.kinds = []
        self.drawn = None
        self.remembered = {}
        self.can_splice = False
        self._draw_structure(seed)
        if facts is None:
            self._examine(seed)
        else:
            self.changed_inputs = facts["changed_inputs"]
            self.changed_state = facts["changed_state"]
            self.free_state = facts["free_state"]

    def facts(self):
        return {
            "changed_inputs": self.changed_inputs,
            "changed_state": self.changed_state,
            "free_state": self.free_state,
        }

    def bytes(self):
        """About what it keeps in memory."""
        return 2 * sum(x.numel() * x.element_size() for x in self.initial)

    def _begin(self, seed, keep_grad=False):
        """Before the task's code runs: what it finds depends on the seed, not
        on what ran earlier, in this process or in another."""
        restore(self.dtype)
        if not keep_grad:
            torch.set_grad_enabled(True)
        seed_everything(seed)

    # --- drawing ------------------------------------------------------------

    def _drawn(self, seed):
        self._begin(mixed(seed, INPUT_STREAM))
        structure = self.module.get_inputs()
        if not isinstance(structure, (list, tuple)):
            structure = [structure]
        names = self.parameters
        leaves = []
        for index, value in enumerate(structure):
            name = names[index] if index < len(names) else f"input_{index}"
            flatten(value, name, leaves)
        return list(structure), leaves

    def _draw_structure(self, seed):
        self.structure, leaves = self._drawn(seed)
        self.leaves = [value for _, value in leaves]
        _, again = self._drawn(seed + 1)
        names = Names()
        self.names, self.constants, self.specs = names, [], []
        if len(again) != len(leaves):
            raise TaskInvalid("get_inputs returns a different count each time")
        for (name, value), (_, other) in zip(leaves, again):
            if isinstance(value, torch.Tensor):
                if value.layout != torch.strided or value.device.type != "cpu":
                    raise TaskInvalid(f"input '{name}' is no dense CPU tensor")
                if not same_structure(value, other):
                    raise TaskInvalid(f"the shape of input '{name}' is random")
                self.specs.append(describe(names.make(name), value))
            elif isinstance(value, SCALARS):
                if value != other:
                    raise TaskInvalid(f"the constant input '{name}' is random")
                self.constants.append({"name": name, "value": repr(value)})
            else:
                raise TaskInvalid(
                    f"input '{name}' is a {type(value).__name__}; expected "
                    "tensors and scalars"
                )

    def inputs(self, seed, kind="plain", change=None):
        """Input tensors of one case. With `change`, a second seed, the later
        elements of each come from another draw: a probe against results that
        are kept by pointer or by how an input begins."""
        _, leaves = self._drawn(seed)
        tensors = [x.detach() for _, x in leaves if isinstance(x, torch.Tensor)]
        if kind != "plain":
            self._begin(mixed(seed, STRESS_STREAM))
            tensors = [stressed(x, kind) for x in tensors]
        if change is not None:
            other = self.inputs(change, kind)
            if not self.can_splice:
                return other
            tensors = [spliced(a, b) for a, b in zip(tensors, other)]
        return tensors

    def _place(self, name):
        path, _, key = name.rpartition(".")
        return self.model.get_submodule(path), key

    def _state_now(self, index):
        """What the model holds under a name: a call may have set it anew. None
        if that has another form."""
        now, before = getattr(*self.places[index], None), self.initial[index]
        if not isinstance(now, torch.Tensor):
            return None
        is_alike = now.shape == before.shape and now.dtype == before.dtype
        return now.detach() if is_alike else None

    def _put_back(self):
        """The tensors that calls have set anew."""
        for (owner, key), tensor in zip(self.places, self.held):
            if getattr(owner, key, None) is not tensor:
                setattr(owner, key, tensor)

    def draw_state(self, seed):
        """Sets the model's state to what one case starts from."""
        self._put_back()
        if seed == self.drawn and not self.changed_state:
            return
        self.drawn = seed
        if seed in self.remembered:
            for index, value in self.remembered[seed]:
                self.state[index][1].copy_(value)
            return
        # Also called between timed calls, which need no gradients.
        self._begin(mixed(seed, STATE_STREAM), keep_grad=True)
        done, drawn = set(), []
        for index, (_, tensor, is_parameter) in enumerate(self.state):
            # Others are constants (masks, positions), some with strides of
            # zero, which cannot be written.
            if not is_parameter and index not in self.changed_state:
                continue
            # Tied parameters are one tensor with two names.
            if tensor.data_ptr() in done:
                continue
            done.add(tensor.data_ptr())
            tensor.copy_(self.initial[index])
            perturb(tensor, is_parameter)
            drawn.append(index)
        # A case's state is drawn twice: for the candidate, for the reference.
        if self.bytes() <= SMALL_BYTES:
            if len(self.remembered) >= MAX_REMEMBERED:
                self.remembered.clear()
            self.remembered[seed] = [
                (index, self.state[index][1].clone()) for index in drawn
            ]

    # --- running ------------------------------------------------------------

    def forward(self, tensors, seed, model=None):
        """Output leaves of one call; inputs and state may be changed by it."""
        self._put_back()
        self._begin(mixed(seed, FORWARD_STREAM))
        with torch.no_grad():
            result = (model or self.model)(*self.arguments(tensors))
        return self.results(result)

    def arguments(self, tensors):
        """What the model is called with: tensors among the constants."""
        given = iter(tensors)
        values = iter(
            [
                next(given) if isinstance(x, torch.Tensor) else x
                for x in self.leaves
            ]
        )
        return [rebuild(x, values) for x in self.structure]

    def results(self, result):
        """The (name, tensor) pairs in what the model returned."""
        out = []
        flatten(result, "out", out)
        return [(n, x.detach()) for n, x in out if isinstance(x, torch.Tensor)]

    def outputs(self, tensors, seed):
        """What a candidate has to produce for one case.
        @pre draw_state was called."""
        self._begin(mixed(seed, FORWARD_STREAM))
        with torch.no_grad():
            result = self.model(*self.arguments(tensors))
        return self.collect(result, tensors)

    def collect(self, result, tensors):
        """The results of a call, then changed inputs, then changed state."""
        results = [x for _, x in self.results(result)]
        results += [tensors[i] for i in self.changed_inputs]
        results += [self._changed(i) for i in self.changed_state]
        return [x.contiguous() for x in results]

    def _changed(self, index):
        now = self._state_now(index)
        if now is None:
            raise TaskInvalid(
                f"the reference's '{self.state[index][0]}' has another form "
                "after some calls"
            )
        return now

    # --- what kind of task it is --------------------------------------------

    def _examine(self, seed):
        if not self.specs:
            raise TaskInvalid("get_inputs returns no tensor")
        given = self.inputs(seed)
        copies = [x.clone() for x in given]
        start = time.perf_counter()
        first = self.forward(copies, seed)
        self.forward_s = elapsed(start)
        if not first:
            raise TaskInvalid("the reference returns no tensor")
        self._find_changes(given, copies)
        self._find_free_state()
        self._check_result(first)
        self._check_repeatable(given, first, seed)
        self._name(first)
        self._check_work(given, first, seed)
        self.can_splice = self._splices(seed)
        if self.forward_s <= SLOW_S and self.bytes() <= 2 * LARGE_BYTES:
            self.kinds = [k for k in STRESS if self._allows(k, seed)]
        self.draw_state(seed)

    def _find_changes(self, given, copies):
        for index, (before, after) in enumerate(zip(given, copies)):
            if not torch.equal(_bits(before), _bits(after)):
                self.changed_inputs.append(index)
        for index, before in enumerate(self.initial):
            after = self._state_now(index)
            if after is not None and not torch.equal(_bits(before), _bits(after)):
                self.changed_state.append(index)

    def _find_free_state(self):
        """For each tensor of the state the first that is the same memory; -1 for
        what no case draws, and for what shares only a part of its memory."""
        owners = {}
        for index, (_, x, _) in enumerate(self.state):
            place = x.untyped_storage().data_ptr()
            owners.setdefault(place, []).append(index)
        self.free_state = [-1] * len(self.state)
        for rows in owners.values():
            first = self.state[rows[0]][1]
            drawn = any(self.state[i][2] or i in self.changed_state
                        for i in rows)
            alike = all(
                first.data_ptr() == self.state[i][1].data_ptr()
                and same_structure(first, self.state[i][1])
                for i in rows
            )
            if drawn and alike and first.numel():
                for i in rows:
                    self.free_state[i] = rows[0]

    def _check_result(self, results):
        total = 0
        for name, value in results:
            total += value.numel()
            if value.dtype not in DTYPES:
                raise TaskInvalid(f"result '{name}' has type {value.dtype}")
            if not is_finite(value):
                raise TaskInvalid(
                    f"the reference's result '{name}' is not finite (NaN or "
                    "infinity) on its own inputs"
                )
        if total == 0:
            raise TaskInvalid("the reference's results have no element")

    def _check_repeatable(self, given, first, seed):
        for index in self.changed_state:
            self.state[index][1].copy_(self.initial[index])
        again = self.forward([x.clone() for x in given], seed + 1)
        if len(again) != len(first):
            raise TaskInvalid("the reference is random: its results differ")
        for (name, a), (_, b) in zip(first, again):
            if a.shape != b.shape or not torch.allclose(
                a.double(), b.double(), rtol=1e-6, atol=1e-7
            ):
                raise TaskInvalid(
                    f"the reference is random: '{name}' differs between two "
                    "runs with the same inputs (dropout, or an own draw)"
                )

    def _check_work(self, given, first, seed):
        """An identity on plain inputs may be a rectifier: signed ones tell."""
        if self.changed_inputs or self.changed_state:
            return
        candidates = [
            i for i, x in enumerate(given) if all(_same(y, x) for _, y in first)
        ]
        if not candidates:
            return
        try:
            signed = self.inputs(seed, "signed")
            second = self.forward([x.clone() for x in signed], seed)
        except Exception:  # Negative inputs are not for every task.
            return
        for i in candidates:
            if all(_same(y, signed[i]) for _, y in second):
                raise TaskInvalid(
                    "the reference does no work: it returns input "
                    f"'{self.specs[i]['name']}' as it is"
                )

    def _name(self, results):
        state = [
            describe(self.names.make(name), tensor, contiguous=True)
            for name, tensor, _ in self.state
        ]
        outputs = [
            describe(self.names.make(name), value, contiguous=True)
            for name, value in results
        ]
        for rows, indexes in (
            (self.specs, self.changed_inputs),
            (state, self.changed_state),
        ):
            for i in indexes:
                row = dict(rows[i], strides=[])
                row["name"] = self.names.make(row["name"] + "_out")
                outputs.append(row)
        self.signature = {
            "inputs": self.specs,
            "state": state,
            "outputs": outputs,
            "constants": self.constants,
        }

    def _splices(self, seed):
        """Whether inputs put together from two draws are inputs still: in two
        parts, and element by element, as the timer does."""
        if self.forward_s > SLOW_S:
            return False
        try:
            if not keep_traits(lambda n: self.inputs(seed + n)):
                return False
            pairs = list(zip(self.inputs(seed), self.inputs(seed + 1)))
            results = []
            for together in TOGETHER:
                made = [together(a, b) for a, b in pairs]
                results += self.forward(made, seed)
        except Exception:  # Such as tensors that have to fit each other.
            return False
        return all(is_finite(x) for _, x in results)

    def _allows(self, kind, seed):
        """A stress kind is fair where single precision is still right: the
        result is finite and close to the same model in double precision."""
        self.draw_state(seed)
        try:
            model = copy.deepcopy(self.model).double()
            given = self.inputs(seed, kind)
            wide = [x.double() if x.is_floating_point() else x for x in given]
            exact = self.forward([x.clone() for x in wide], seed, model)
            got = self.forward([x.clone() for x in given], seed)
        except Exception:  # The kind breaks what the task asks of its inputs.
            return False
        for (_, x), (_, y) in zip(got, exact):
            if not x.is_floating_point():
                if not torch.equal(x, y.to(x.dtype)):
                    return False
                continue
            if not (is_finite(x) and is_finite(y)):
                return False
            half = x.dtype in (torch.float16, torch.bfloat16)
            tolerance = (1e-2 if half else 1e-4) * 0.25
            size = y.square().mean().sqrt().clamp(min=1e-4)
            gap = (x.double() - y).abs()
            if not (gap <= tolerance * (size + y.abs())).all():
                return False
        return True


def _bits(tensor):
    """A view in which NaN equals itself."""
    if not tensor.is_floating_point():
        return tensor
    size = tensor.element_size()
    return tensor.contiguous().view(
        {2: torch.int16, 4: torch.int32, 8: torch.int64}[size]
    )


def _same(a, b):
    return (
        a.shape == b.shape and a.dtype == b.dtype and torch.equal(a, b)
    )
