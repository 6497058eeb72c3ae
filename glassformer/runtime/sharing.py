"""Processes that share out what is trained, by torch's FSDP2: each holds an equal part of every tensor, and all gather
the tensors of a block when they compute it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from torch import Tensor, nn
from torch import distributed as dist

from glassformer.runtime.processes import Several

_T = TypeVar("_T")


class Sharing(Several):
    """Processes each of which holds a part of every parameter, of its gradient and of the optimizer's state."""

    def spread(self, module: nn.Module, blocks: Iterable[nn.Module]) -> None:
        """Share out the parameters of a module in place. Those of each of its `blocks` are gathered when it is called;
        gradients are summed over all processes.
        """
        from torch.distributed.device_mesh import init_device_mesh  # not at the top: they take half a second
        from torch.distributed.fsdp import fully_shard

        mesh = self.together(lambda: init_device_mesh(next(module.parameters()).device.type, (self.count,)))
        for each in (*blocks, module):
            spread = fully_shard(each, mesh=mesh)
            spread.set_gradient_divide_factor(1.0)  # losses are divided by the labels of all processes already
            spread.set_force_sum_reduction_for_comms(True)  # gloo knows no other than a sum

    def any_of(self, wish: bool) -> bool:
        return bool(self.highest(float(wish))[0])

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """FSDP2 has done so in the backward pass."""

    def whole(self, tensor: Tensor) -> Tensor:
        shared: Any = tensor
        return self._exchange(shared.full_tensor) if hasattr(tensor, "full_tensor") else tensor

    def part(self, whole: Tensor, like: Tensor) -> Tensor:
        from torch.distributed.tensor import DTensor, distribute_tensor

        if not isinstance(like, DTensor):
            return whole
        return distribute_tensor(whole, like.device_mesh, like.placements, src_data_rank=None)

    def together(self, work: Callable[[], _T]) -> _T:
        try:
            return work()
        except RuntimeError as error:
            if isinstance(error, dist.DistError) or "gloo" in str(error):
                raise self._lost() from None
            raise
