"""A program of FEniCSx that knows nothing of blockjacobi: a cantilever of hexahedra under its own weight.

usage: with_fenicsx.py TYPE; prints the type of the preconditioner, the reason and the iterations of CG."""

import sys

import numpy as np
import ufl
from dolfinx import fem, mesh
from dolfinx.fem import petsc
from mpi4py import MPI
from petsc4py import PETSc

domain = mesh.create_box(MPI.COMM_WORLD, [np.zeros(3), np.array([2.0, 1.0, 1.0])], [8, 4, 4], mesh.CellType.hexahedron)
space = fem.VectorFunctionSpace(domain, ("Lagrange", 1))
wall = fem.locate_dofs_geometrical(space, lambda x: np.isclose(x[0], 0.0))
u, v = ufl.TrialFunction(space), ufl.TestFunction(space)
strain = lambda w: ufl.sym(ufl.grad(w))
stress = 2.0 * strain(u) + 1.5 * ufl.tr(strain(u)) * ufl.Identity(3)
weight = fem.Constant(domain, PETSc.ScalarType((0.0, 0.0, -1.0)))
problem = petsc.LinearProblem(
    ufl.inner(stress, strain(v)) * ufl.dx, ufl.inner(weight, v) * ufl.dx,
    bcs=[fem.dirichletbc(np.zeros(3, PETSc.ScalarType), wall, space)],
    petsc_options={"ksp_type": "cg", "ksp_rtol": 1e-10, "pc_type": sys.argv[1]})
problem.solve()
solver = problem.solver
PETSc.Sys.Print("RESULT", solver.getPC().getType(), solver.getConvergedReason(), solver.getIterationNumber())
