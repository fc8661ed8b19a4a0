"""Where a model lies, and how much memory it may take and keeps there."""

from __future__ import annotations

from typing import Protocol, Self

from arrows.engine.device import Device, ParameterLock, get_device
from arrows.engine.planning import Params, check_slab_types
from arrows.engine.running import Executors, parse_memory


class Placed(Protocol):
    """The part of a `Model` that has to do with its device and memory.

    Attributes:
        params: parameter name -> live array of the device.
        executors: run batches.
    """

    params: Params
    executors: Executors
    _lock: ParameterLock

    @property
    def device(self) -> Device:
        """Where the model runs, and its parameters lie."""
        return self.params.device

    @property
    def memory_limit(self) -> int | None:
        """The bytes that a batch may take on the device; as `compile(memory_limit=)`, and may be set anew."""
        return self.executors.memory_limit

    @memory_limit.setter
    def memory_limit(self, limit: int | str | None) -> None:
        self.executors.memory_limit = parse_memory(limit)

    @property
    def held_memory(self) -> int:
        """Bytes of the device that are kept for further calls, beside the parameters."""
        with self._lock.mutex:
            return self.executors.bytes

    def to(self, device: str | Device) -> Self:
        """Moves the model to a device: its parameters, and those of all models that share some with it.

        An optimizer's state follows in its next step.  What calls have handed out, the last call's metrics
        included, stays where it is.

        Args:
            device: as for `compile`.

        Returns:
            The model itself.

        Raises:
            ArrowValueError: no such device; or a network on the fly shares parameters, and cannot move.

        Example:
            >>> import arrows as ar
            >>> model = ar.compile(ar.Vector(2) >> ar.FC(3)).to("cpu")
            >>> model.device
            get_device('cpu')
        """
        target = get_device(device)
        check_slab_types(self.executors.plan.slabs, target)
        with self._lock.mutex:
            self.params.shared.move(target)
            self.executors.release()
        return self

    def release_memory(self) -> None:
        """Lets go of all memory that is kept for further calls, which take it anew, and make their programs.

        On a GPU, the memory that CuPy keeps for later goes back to the system.

        Example:
            >>> import arrows as ar
            >>> model = ar.compile(ar.Vector(2) >> ar.FC(3))
            >>> _ = model([[n, 2] for n in range(1000)])
            >>> model.release_memory()
            >>> model.held_memory
            0
        """
        with self._lock.mutex:
            self.executors.release()
            self.device.release_memory()
