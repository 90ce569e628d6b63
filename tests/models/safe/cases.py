"""SAFE from its definition: the matrices of the specification, for bags of any sizes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from milopt import RBF, Bags, solve
from milopt.models.safe import SAFE

K = RBF(0.5)
"""Kernel of the golden bags."""


def safe(bags, y, kind="ksc", gamma=0.5, rho=1.0, **more):
    """Return the model of the paper: sums over bags, every bag of weight 1."""
    model = SAFE(core=kind, gamma=gamma, rho=rho, kernel=K, **({"aggregation": "sum"} | more))
    return model.declare(bags, y, np.ones(len(bags)))


def solve_safe(bags, y, kind="ksc", gamma=0.5, rho=1.0, solver="native", **more):
    return solve(safe(bags, y, kind, gamma, rho, **more), solver)


@dataclass
class Matrices:
    """Matrices Omega, V, J and G = rho JJ' - gamma V, named as in the specification."""

    bags: Bags
    y: np.ndarray
    kind: str
    gamma: float
    rho: float

    def __post_init__(self):
        self.omega = K(self.bags.instances, self.bags.instances)
        degree = self.omega.sum(axis=1)
        self.v = np.ones(degree.size) if self.kind == "kpca" else 1 / degree
        self.J = self.bags.membership.toarray()
        self.G = self.rho * self.J @ self.J.T - self.gamma * np.diag(self.v)
        self.one = np.ones((degree.size, 1))

    def s1(self):
        """Solve the corrected system of size N + 1 for (alpha, b)."""
        N = self.v.size
        system = np.block([[np.eye(N) + self.G @ self.omega, self.G @ self.one], [self.one.T, np.zeros((1, 1))]])
        *alpha, b = np.linalg.solve(system, np.append(self.rho * self.J @ self.y, 0.0))
        return np.array(alpha), b

    def centred(self):
        """Return Mc = I - G11'/(1'G1)."""
        return np.eye(self.v.size) - self.G @ self.one @ self.one.T / (self.one.T @ self.G @ self.one)

    def s2(self):
        """Solve the system without the bias for (alpha, b)."""
        Mc = self.centred()
        alpha = np.linalg.solve(np.eye(self.v.size) + Mc @ self.G @ self.omega, self.rho * Mc @ self.J @ self.y)
        total = (self.one.T @ self.G @ self.one).item()
        return alpha, float((self.rho * self.J @ self.y - self.G @ self.omega @ alpha).sum()) / total

    def printed(self):
        """Return the matrix of the paper's (5), which lacks the identity, and a least-norm solution (alpha, b)."""
        Mc = self.centred()
        matrix = Mc @ self.G @ self.omega
        alpha = np.linalg.lstsq(matrix, self.rho * Mc @ self.J @ self.y, rcond=1e-10)[0]
        total = (self.one.T @ self.G @ self.one).item()
        return matrix, alpha, float((self.rho * self.J @ self.y - self.G @ self.omega @ alpha).sum()) / total

    def coordinates(self):
        """Return Z = [F, 1] with FF' = Omega."""
        values, vectors = np.linalg.eigh(self.omega)
        kept = values > 1e-10 * values[-1]
        return np.hstack([vectors[:, kept] * np.sqrt(values[kept]), self.one])

    def hessian(self):
        """Return Hred = D0 + Z'GZ."""
        Z = self.coordinates()
        D0 = np.diag(np.append(np.ones(Z.shape[1] - 1), 0.0))
        return D0 + Z.T @ self.G @ Z

    def s3(self):
        """Return the scores e = Z theta from the system in coordinates."""
        Z = self.coordinates()
        return Z @ np.linalg.solve(self.hessian(), self.rho * Z.T @ self.J @ self.y)

    def gradient(self, alpha, b):
        """Return the gradient of the objective at f = sum_p alpha_p K(x_p, .) and b, in coordinates."""
        Z = self.coordinates()
        F = Z[:, :-1]
        theta = np.append(F.T @ alpha, b)
        return self.hessian() @ theta - self.rho * Z.T @ self.J @ self.y


@st.composite
def problems(draw, kinds=("ksc", "kpca")):
    """Draw small random problems, convex and nonconvex ones."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    sizes = draw(st.lists(st.integers(1, 5), min_size=2, max_size=7))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    y = np.where(np.arange(len(sizes)) % 2 == 0, 1.0, -1.0)
    bags = Bags(rng.standard_normal((offsets[-1], 2)), offsets)
    gamma = draw(st.sampled_from([0.01, 0.1, 0.5, 0.9, 3.0, 30.0]))
    return Matrices(bags, y, draw(st.sampled_from(kinds)), gamma, draw(st.sampled_from([0.01, 0.3, 1.0, 20.0])))
