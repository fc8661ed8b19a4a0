"""The papers' updates in plain NumPy, for one parameter and its gradients; None is a step without one."""

from __future__ import annotations

import numpy as np

from arrows.training import SGD, Adagrad, Adam, AdamW, RMSprop


def sgd(w, gradients, rate, momentum=0.0, decay=0.0):
    """Sutskever et al. 2013, equations 1 and 2."""
    v = np.zeros_like(w)
    for g in gradients:
        if g is not None:
            v = momentum * v - rate * (g + decay * w)
            w = w + v
    return w


def adagrad(w, gradients, rate, epsilon=1e-10, initial=0.0, decay=0.0):
    """Duchi et al. 2011, figure 1, with a diagonal matrix."""
    s = np.full_like(w, initial)
    for g in gradients:
        if g is not None:
            g = g + decay * w
            s = s + g**2
            w = w - rate * g / (np.sqrt(s) + epsilon)
    return w


def adam(w, gradients, rate, beta1=0.9, beta2=0.999, epsilon=1e-8, decay=0.0, decoupled=0.0):
    """Kingma and Ba 2015, algorithm 1; Loshchilov and Hutter 2019, algorithm 2, with eta_t = rate / alpha."""
    m = v = np.zeros_like(w)
    t = 0
    for g in gradients:
        if g is not None:
            t += 1
            g = g + decay * w
            m = beta1 * m + (1 - beta1) * g
            v = beta2 * v + (1 - beta2) * g**2
            m_hat, v_hat = m / (1 - beta1**t), v / (1 - beta2**t)
            w = w - (rate * m_hat / (np.sqrt(v_hat) + epsilon) + rate * decoupled * w)
    return w


def rmsprop(w, gradients, rate, rho=0.9, epsilon=1e-8, decay=0.0):
    """Tieleman and Hinton 2012, slide 29."""
    mean_square = np.zeros_like(w)
    for g in gradients:
        if g is not None:
            g = g + decay * w
            mean_square = rho * mean_square + (1 - rho) * g**2
            w = w - rate * g / (np.sqrt(mean_square) + epsilon)
    return w


CASES = [
    (lambda **k: SGD(0.1, **k), lambda w, g: sgd(w, g, 0.1)),
    (lambda **k: SGD(0.1, momentum=0.9, **k), lambda w, g: sgd(w, g, 0.1, 0.9)),
    (
        lambda **k: SGD(0.1, momentum=0.5, weight_decay=0.01, **k),
        lambda w, g: sgd(w, g, 0.1, 0.5, 0.01),
    ),
    (lambda **k: Adagrad(0.05, **k), lambda w, g: adagrad(w, g, 0.05)),
    (
        lambda **k: Adagrad(0.05, epsilon=1e-3, initial_accumulator_value=0.1, weight_decay=0.01, **k),
        lambda w, g: adagrad(w, g, 0.05, 1e-3, 0.1, 0.01),
    ),
    (lambda **k: Adam(0.01, **k), lambda w, g: adam(w, g, 0.01)),
    (
        lambda **k: Adam(0.01, beta_1=0.5, beta_2=0.9, epsilon=1e-3, weight_decay=0.1, **k),
        lambda w, g: adam(w, g, 0.01, 0.5, 0.9, 1e-3, 0.1),
    ),
    (lambda **k: AdamW(0.01, weight_decay=0.1, **k), lambda w, g: adam(w, g, 0.01, decoupled=0.1)),
    (lambda **k: RMSprop(0.01, **k), lambda w, g: rmsprop(w, g, 0.01)),
    (
        lambda **k: RMSprop(0.01, rho=0.5, epsilon=1e-3, weight_decay=0.1, **k),
        lambda w, g: rmsprop(w, g, 0.01, 0.5, 1e-3, 0.1),
    ),
]
