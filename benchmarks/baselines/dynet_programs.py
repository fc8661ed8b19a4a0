"""Networks of `benchmarks.ports` and `benchmarks.programs`, as users of DyNet write them.

    python dynet_programs.py NAME FOLDER RATE

FOLDER has `examples.json` and `parameters.npz`.  For each line of standard input, the numbers of a batch's
examples, the network NAME takes a step of gradient descent and prints the mean loss before it; the writer,
whose examples are a first letter and how many follow, prints the sum of the letters that it writes.  This
imports DyNet and NumPy alone, and so runs on a Python that DyNet has a wheel for (3.8, with `dynet38`);
`benchmarks.baselines.dynet` starts it.
"""

import json
import sys
from pathlib import Path

import _dynet as dy
import numpy as np


class Network:
    """The parameters of a folder, and the networks that read an example.

    A weight [in, out] stands transposed in DyNet; an LSTM has its gates u, i, o, f in the order i, f, o, u.
    """

    def __init__(self, folder: Path) -> None:
        arrays = np.load(folder / "parameters.npz")
        self.model, self.tables, self.weights, self.cells = dy.ParameterCollection(), {}, {}, {}
        cells = {name[: -len("/bias")] for name in arrays if arrays[name].ndim == 1}
        for cell in [c for c in cells if c in CELLS]:
            u, i, o, f = np.split(np.vstack([arrays[f"{cell}/weight"], arrays[f"{cell}/bias"]]), 4, axis=1)
            gates, size = np.hstack([i, f, o, u]).T, u.shape[1]
            ahead = gates.shape[1] - size - 1
            self.cells[cell] = dy.VanillaLSTMBuilder(1, ahead, size, self.model, False, 0.0)
            parts = gates[:, :ahead], gates[:, ahead:-1], gates[:, -1]
            for parameter, part in zip(self.cells[cell].get_parameters()[0], parts):
                parameter.set_value(np.ascontiguousarray(part))
        for name in arrays:
            owner = name.partition("/")[0]
            if owner in TABLES:
                self.tables[owner] = self.model.lookup_parameters_from_numpy(arrays[name])
            elif owner not in CELLS:
                self.weights[name] = self.model.parameters_from_numpy(arrays[name].T)

    def layer(self, name: str, x: dy.Expression) -> dy.Expression:
        return dy.affine_transform([self.weights[f"{name}/bias"], self.weights[f"{name}/weight"], x])

    def outputs(self, cell: str, x: list) -> list:
        return self.cells[cell].initial_state().transduce(x)

    def both(self, x: list) -> list:
        backward = self.outputs("backward", x[::-1])[::-1]
        return [dy.concatenate([f, b]) for f, b in zip(self.outputs("forward", x), backward)]

    def judged(self, h: dy.Expression, label: int) -> dy.Expression:
        return dy.pickneglogsoftmax(self.layer("classify", h), label)

    def state(self, node: list, losses: list) -> tuple:
        """A node is [label, word] or [label, left, right]."""
        if len(node) == 2:
            x = dy.lookup(self.tables["embed"], node[1])
            i, o = dy.logistic(self.layer("leaf_i", x)), dy.logistic(self.layer("leaf_o", x))
            c = dy.cmult(i, dy.tanh(self.layer("leaf_u", x)))
        else:
            (left, left_cell), (right, right_cell) = self.state(node[1], losses), self.state(node[2], losses)
            x = dy.concatenate([left, right])
            i, o = dy.logistic(self.layer("pair_i", x)), dy.logistic(self.layer("pair_o", x))
            f = dy.logistic(self.layer("forget_left", x))
            k = dy.logistic(self.layer("forget_right", x))
            c = dy.cmult(i, dy.tanh(self.layer("pair_u", x)))
            c = c + dy.cmult(f, left_cell) + dy.cmult(k, right_cell)
        h = dy.cmult(o, dy.tanh(c))
        losses.append(self.judged(h, node[0]))
        return h, c

    def treelstm(self, tree: list) -> dy.Expression:
        losses: list = []
        self.state(tree, losses)
        return dy.esum(losses)

    def tagger(self, sentence: list) -> dy.Expression:
        x = []
        for word, spelling, _ in sentence:
            if word:
                x.append(dy.lookup(self.tables["words"], word))
            else:
                read = [dy.lookup(self.tables["letters"], k) for k in spelling]
                last = self.outputs("spell_forward", read)[-1], self.outputs("spell_backward", read[::-1])[-1]
                x.append(dy.concatenate(list(last)))
        return dy.esum([self.judged(h, tag) for h, (_, _, tag) in zip(self.both(x), sentence)])

    def attention(self, text: list) -> dy.Expression:
        values = dy.concatenate_cols(self.both([dy.lookup(self.tables["letters"], k) for k in text]))
        keys = dy.colwise_add(self.weights["key/weight"] * values, self.weights["key/bias"])
        state, losses = self.cells["decoder"].initial_state(), []
        h = dy.zeros(self.weights["query/bias"].shape()[0])
        for before, following in zip([0, *text[::-1]], text[::-1]):
            looked = dy.tanh(dy.colwise_add(keys, self.layer("query", h)))
            scores = dy.transpose(self.weights["relevance/weight"] * looked)
            context = values * dy.softmax(scores)
            state = state.add_input(dy.concatenate([dy.lookup(self.tables["letters"], before), context]))
            h = state.output()
            losses.append(self.judged(h, following))
        return dy.esum(losses)

    def language_model(self, text: list) -> dy.Expression:
        states = self.outputs("cell", [dy.lookup(self.tables["letters"], k) for k in [0, *text[:-1]]])
        return dy.esum([self.judged(h, k) for h, k in zip(states, text)])

    def writer(self, first: int, count: int) -> list:
        """A text that begins with a letter, each next one the most probable."""
        dy.renew_cg()
        state, text = self.cells["cell"].initial_state(), [first]
        for _ in range(count):
            state = state.add_input(dy.lookup(self.tables["letters"], text[-1]))
            text.append(int(np.argmax(self.layer("classify", state.output()).npvalue())))
        return text

    def parser(self, sentence: list) -> dy.Expression:
        words, steps = sentence
        vectors = self.both([dy.lookup(self.tables["words"], k) for k in words])
        vectors.append(dy.lookup(self.tables["nothing"], 0))
        losses = []
        for *places, transition in steps:
            hidden = dy.tanh(self.layer("hidden", dy.concatenate([vectors[k] for k in places])))
            losses.append(self.judged(hidden, transition))
        return dy.esum(losses)


TABLES = {"embed", "words", "letters", "nothing"}
CELLS = {"forward", "backward", "spell_forward", "spell_backward", "decoder", "cell"}


def main(name: str, folder: Path, rate: float) -> None:
    """Answers until standard input ends."""
    options = dy.DynetParams()
    options.set_autobatch(True)
    options.set_mem(2048)
    options.init()
    examples = json.loads((folder / "examples.json").read_text(encoding="utf-8"))
    network = Network(folder)
    trainer = dy.SimpleSGDTrainer(network.model, learning_rate=rate)
    trainer.set_clip_threshold(0)
    print("ready", flush=True)
    for line in sys.stdin:
        batch = [int(number) for number in line.split()]
        if name == "writer":
            value = sum(sum(network.writer(*examples[number])) for number in batch)
        else:
            dy.renew_cg()
            loss = dy.esum([getattr(network, name)(examples[number]) for number in batch]) / len(batch)
            value = loss.value()
            loss.backward()
            trainer.update()
        print(value, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]))
