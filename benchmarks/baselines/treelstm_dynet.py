"""The Tree-LSTM of `benchmarks.programs.gated_tree_lstm`, as users of DyNet write it.

    python treelstm_dynet.py FOLDER RATE

FOLDER has `trees.json`, whose nodes are [label, number of the word] or [label, left, right], and
`parameters.npz`.  For each line of standard input, the numbers of a batch's trees, it takes a step of
gradient descent and prints the mean loss before it.  It imports DyNet and NumPy alone, and so runs on a
Python that DyNet has a wheel for (3.8, with `dynet38`); `benchmarks.baselines.dynet` starts it.
"""

import json
import sys
from pathlib import Path

import _dynet as dy
import numpy as np

Node = list  # [label, word] or [label, left, right]


def main(folder: Path, rate: float) -> None:
    """Answers until standard input ends."""
    options = dy.DynetParams()
    options.set_autobatch(True)
    options.set_mem(2048)
    options.init()
    trees = json.loads((folder / "trees.json").read_text(encoding="utf-8"))
    arrays, model = np.load(folder / "parameters.npz"), dy.ParameterCollection()
    embed = model.lookup_parameters_from_numpy(arrays["embed/weight"])
    weights = {name: model.parameters_from_numpy(arrays[name].T) for name in set(arrays) - {"embed/weight"}}
    trainer = dy.SimpleSGDTrainer(model, learning_rate=rate)
    trainer.set_clip_threshold(0)
    print("ready", flush=True)

    def layer(name: str, x: dy.Expression) -> dy.Expression:
        return dy.affine_transform([weights[f"{name}/bias"], weights[f"{name}/weight"], x])

    def state(node: Node, losses: list) -> tuple:
        if len(node) == 2:
            x = dy.lookup(embed, node[1])
            i, o = dy.logistic(layer("leaf_i", x)), dy.logistic(layer("leaf_o", x))
            c = dy.cmult(i, dy.tanh(layer("leaf_u", x)))
        else:
            (left, left_cell), (right, right_cell) = state(node[1], losses), state(node[2], losses)
            x = dy.concatenate([left, right])
            i, o = dy.logistic(layer("pair_i", x)), dy.logistic(layer("pair_o", x))
            f, k = dy.logistic(layer("forget_left", x)), dy.logistic(layer("forget_right", x))
            c = dy.cmult(i, dy.tanh(layer("pair_u", x))) + dy.cmult(f, left_cell) + dy.cmult(k, right_cell)
        h = dy.cmult(o, dy.tanh(c))
        losses.append(dy.pickneglogsoftmax(layer("classify", h), node[0]))
        return h, c

    for line in sys.stdin:
        dy.renew_cg()
        batch = line.split()
        losses: list = []
        for number in batch:
            state(trees[int(number)], losses)
        loss = dy.esum(losses) / len(batch)
        value = loss.value()
        loss.backward()
        trainer.update()
        print(value, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
