"""Inputs that are put together from two draws, and whether they are inputs
still."""

from itertools import pairwise

import torch

from judge_task import memory_of, same_structure

# What is true of so many draws of an input may be promised of it; what is not
# true of so many more was an accident.
DRAWS, MORE_DRAWS = 6, 20

# Sums that are this close are the same, as a share of what is summed.
SAME_SUM, SAME_SUM_OF_HALVES = 1e-4, 5e-3


def spliced(first, second):
    """`first` in its early elements, `second` from the middle on."""
    if not same_structure(first, second):
        return second
    # Memory, which the timer mixes too: of strides of zero elements share it.
    span = memory_of(second).clone()
    half = span.numel() // 2
    span[:half] = memory_of(first)[:half]
    return span.as_strided(second.shape, second.stride())


def mixed_by_element(first, second):
    """Each element from one of two tensors."""
    if not same_structure(first, second):
        return second
    a, b = memory_of(first), memory_of(second)
    span = torch.where(torch.rand(a.shape) < 0.5, a, b)
    return span.as_strided(second.shape, second.stride())


def blended(first, second):
    """Each element from one of two tensors, moved a little to the other; as the
    timer does it with floats that have many values."""
    mixed = mixed_by_element(first, second)
    if not mixed.is_floating_point() or not same_structure(first, second):
        return mixed
    a, b, span = memory_of(first), memory_of(second), memory_of(mixed)
    # Differences of infinities are none.
    way = (a + b - 2 * span).nan_to_num(0.0, 0.0, 0.0)
    span = span + way * torch.rand(span.shape, dtype=span.dtype) / 16
    return span.as_strided(second.shape, second.stride())


TOGETHER = (spliced, mixed_by_element, blended)


def keep_traits(draw):
    """Whether what all draws of an input have in common is also true of what is
    put together from them. `draw` gives the tensors of the n-th draw."""
    draws = [draw(0), draw(1)]
    common = [traits(x, first) for first, x in zip(*draws)]
    for n in range(2, DRAWS):
        if not any(common):
            return True
        draws.append(draw(n))
        _keep_common(common, draws[n], draws[0])
    lost = []
    for wanted, tensors in zip(common, zip(*draws)):
        lost.append(set())
        for a, b in pairwise(tensors):
            if not wanted or torch.equal(a, b):
                continue
            for together in TOGETHER:
                lost[-1] |= wanted - traits(together(a, b), tensors[0])
    for n in range(MORE_DRAWS):
        if not any(lost):
            return True
        _keep_common(lost, draw(DRAWS + n), draws[0])
    return not any(lost)


def _keep_common(common, tensors, first):
    for found, x, y in zip(common, tensors, first):
        if found:
            found &= traits(x, y)


def traits(x, first):
    """What a task may promise of an input: that it is symmetric, in order, of
    distinct indices, or that its sums are those of `first` (probabilities, rows
    with a single one, of unit length)."""
    found = set()
    if x.dim() > 1 and x.shape[-1] == x.shape[-2] > 1 and torch.equal(x, x.mT):
        found.add("symmetric")
    for i, size in enumerate(x.shape):
        if size < 2 or x.numel() == 0:
            continue
        # Of most inputs a part tells, in little time, that it is not so.
        part, first_part = _part(x, i), _part(first, i)
        found |= {
            (trait.__name__, i)
            for trait in (_rising, _falling, _distinct, _same_sum, _same_length)
            if trait(part, first_part, i) and trait(x, first, i)
        }
    return found


def _part(x, i):
    """All of one dimension, and a little of the others."""
    for other, size in enumerate(x.shape):
        if other != i:
            x = x.narrow(other, 0, min(size, 4))
    return x


def _neighbours(x, i):
    return x.narrow(i, 0, x.shape[i] - 1), x.narrow(i, 1, x.shape[i] - 1)


def _rising(x, first, i):
    early, late = _neighbours(x, i)
    return bool((early <= late).all())


def _falling(x, first, i):
    early, late = _neighbours(x, i)
    return bool((early >= late).all())


def _distinct(x, first, i):
    if x.is_floating_point() or x.dtype == torch.bool:
        return False
    early, late = _neighbours(x.sort(i).values, i)
    return bool((early != late).all())


def _same_sum(x, first, i, power=1):
    halves = x.dtype in (torch.float16, torch.bfloat16)
    close = SAME_SUM_OF_HALVES if halves else SAME_SUM
    x, first = x.double() ** power, first.double() ** power
    gap = (x.sum(i) - first.sum(i)).abs()
    return bool((gap <= close * first.abs().sum(i)).all())


def _same_length(x, first, i):
    return _same_sum(x, first, i, power=2)
