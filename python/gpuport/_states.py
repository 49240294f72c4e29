"""Softmax states, merged element by element."""

from __future__ import annotations

from typing import Any

from gpuport._arguments import Options, find_site, state_view
from gpuport._dispatch import choose_kernel, deliver_all, open_session, refuse_capture
from gpuport._numpy import np
from gpuport._session import Session
from gpuport._view import HOST, View, host_array


def merge(function: str, a: Any, b: Any, options: Options) -> tuple[Any, Any]:
    """The states of the elements of a and of b together."""
    names = ("a[0]", "a[1]", "b[0]", "b[1]")
    arrays = (*_pair(function, a, "a"), *_pair(function, b, "b"))
    site = find_site(arrays[0], options, names[0])
    views = [
        state_view(function, array, name, site) for array, name in zip(arrays, names, strict=True)
    ]
    first = views[0]
    for view, name in zip(views, names, strict=True):
        if view.dtype != first.dtype:
            raise TypeError(f"{function}: {name} is {view.dtype}, a[0] {first.dtype}")
        if view.shape != first.shape:
            raise ValueError(f"{function}: {name} has shape {view.shape}, a[0] has {first.shape}")
    kernel = choose_kernel(function, "softmax", function, site, first.dtype, 1, options)

    session = open_session(site, arrays[0])
    if site.is_staged:
        views = [session.upload(view, site.work) for view in views]
    if options.nonfinite == "raise":
        refuse_capture(site, function, "nonfinite='raise'")
        _require_finite(function, session, views[0], views[1], "a")
        _require_finite(function, session, views[2], views[3], "b")

    def write(*targets: View) -> None:
        """A matrix of one column: as many rows as there are states."""
        inputs = [session.row(view) for view in views]
        first, *others = [view.matrix(0, view.strides[0], 0) for view in inputs]
        result, *more = [session.row(target).matrix(0, 1, 0) for target in targets]
        session.native.run(
            kernel.name,
            function,
            inputs[0].size,
            1,
            first,
            result,
            None,
            session.ordinal,
            session.stream,
            None,
            others,
            more,
        )

    merged = deliver_all(site, session, arrays[0], first.shape, first.dtype, 2, write)
    return merged[0], merged[1]


def _pair(function: str, state: Any, name: str) -> tuple[Any, Any]:
    if not isinstance(state, tuple | list) or len(state) != 2:
        raise TypeError(f"{function}: {name} must be a pair (m, d), as softmax_state gives it")
    return state[0], state[1]


def _require_finite(
    function: str, session: Session, max_view: View, sum_view: View, name: str
) -> None:
    """ValueError for a state that is neither finite nor empty."""
    if max(session.first_nonfinite(max_view), session.first_nonfinite(sum_view)) < 0:
        return
    m, d = (
        host_array(view) if view.place == HOST else session.download(view)
        for view in (max_view, sum_view)
    )
    wrong = ~(np.isfinite(m) & np.isfinite(d)) & ~((m == -np.inf) & (d == 0))
    if wrong.any():
        at = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), m.shape))
        raise ValueError(
            f"{function}: {name} is not finite at index {at[0] if len(at) == 1 else at}"
        )
