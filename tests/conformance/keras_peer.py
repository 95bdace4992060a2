"""Run as a program: answers the cases of test_keras.py with Keras, in a process of its own.

python keras_peer.py cases.npz answers.npz
"""

import os
import sys

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np

LAYERS = {"rnn": keras.layers.SimpleRNN, "lstm": keras.layers.LSTM, "gru": keras.layers.GRU}


def states(result):
    """Outputs and the hidden states among what a layer returned."""
    return [keras.ops.convert_to_numpy(part) for part in result]


def main(source, target):
    cases, answers = np.load(source), {}
    for name in cases["names"]:
        cell, variant, source_of_weights, padded = str(name).split("/")
        x = cases[f"{name}/x"]
        mask = cases[f"{name}/mask"] if padded == "padded" else None
        options = {"reset_after": variant == "after"} if cell == "gru" else {}
        # Initialisers are drawn from explicit seeds, and the bias is drawn too, so that no block is trivial.
        seed = int(cases["seed"])

        def layer(k, cell=cell, options=options, seed=seed):
            return LAYERS[cell](
                4, return_sequences=True, return_state=True,
                kernel_initializer=keras.initializers.RandomNormal(0.0, 0.5, seed + k),
                recurrent_initializer=keras.initializers.RandomNormal(0.0, 0.5, seed + 10 + k),
                bias_initializer=keras.initializers.RandomNormal(0.0, 0.5, seed + 20 + k),
                **({"unit_forget_bias": False} if cell == "lstm" else {}), **options,
            )  # fmt: skip

        if variant in ("concat", "sum", "ave", "mul"):
            module = keras.layers.Bidirectional(layer(0), merge_mode=variant)
            module(x)
        else:
            module = layer(0)
            module(x)
        if source_of_weights == "ours":
            count = len(module.get_weights())
            module.set_weights([cases[f"{name}/w{k}"] for k in range(count)])
        result = module(x) if mask is None else module(x, mask=mask)
        for k, part in enumerate(states(result)):
            answers[f"{name}/out{k}"] = part
        for k, weight in enumerate(module.get_weights()):
            answers[f"{name}/w{k}"] = np.asarray(weight)
    answers["backend"] = np.array(keras.backend.backend())
    np.savez(target, **answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
