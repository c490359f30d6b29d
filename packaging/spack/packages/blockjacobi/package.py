"""Not run yet; see packaging/README.md."""

from spack.package import *


class Blockjacobi(CMakePackage, CudaPackage):
    """Block-Jacobi preconditioner for sparse linear systems, on CPU threads and CUDA devices."""

    license("BSD-3-Clause")

    version("main")  # of a checkout, by `spack develop`

    variant("shared", default=True, description="Build a shared library")
    variant("metis", default=True, description="Blocks by METIS")
    variant("petsc", default=False, description="The PC type of PETSc, and the plugin of it")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("eigen@3.4:3", type="build")
    depends_on("fmt@9:", type="build")
    depends_on("cli11@2.1:", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("zlib-api")
    depends_on("metis@5:", when="+metis")
    depends_on("cuda@12.4:", when="+cuda")
    depends_on("pkgconfig", type="build", when="+petsc")
    depends_on("petsc@3.18:", when="+petsc")
    depends_on("mpi", when="+petsc")

    conflicts("cuda_arch=none", when="+cuda", msg="say for which devices: cuda_arch=90")
    for arch in CudaPackage.cuda_arch_values:
        if int("".join(filter(str.isdigit, arch))) < 80:
            conflicts(f"cuda_arch={arch}", when="+cuda", msg="compute capability 8.0 is the least")

    def cmake_args(self):
        spec = self.spec
        args = [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define("BLOCKJACOBI_BUILD_TESTS", self.run_tests),
            self.define("BLOCKJACOBI_BUILD_BENCHMARKS", False),
            self.define("BLOCKJACOBI_GPU", "cuda" if spec.satisfies("+cuda") else "none"),
            self.define("BLOCKJACOBI_METIS", "metis" if spec.satisfies("+metis") else "none"),
            self.define("BLOCKJACOBI_PETSC", "petsc" if spec.satisfies("+petsc") else "none"),
        ]
        if spec.satisfies("+cuda"):
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", spec.variants["cuda_arch"].value))
        return args
