// The tests of the PETSc adapter: all ranks run all of them, and a failure on any rank is one of the program.
#include <blockjacobi/adapters/petsc.h>

#include <gtest/gtest.h>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  // What is left on the command line is ours; each test states its options.
  if (PetscInitialize(nullptr, nullptr, nullptr, nullptr) != 0) return 2;
  int rank = 0;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  if (bj_petsc_register() != 0 || bj_petsc_register() != 0) return 2;
  if (rank != 0) {
    // The others speak up where they fail.
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    class Failures final : public ::testing::EmptyTestEventListener {
      void OnTestPartResult(const ::testing::TestPartResult& result) override {
        if (result.failed())
          std::fprintf(stderr, "%s:%d: %s\n", result.file_name(), result.line_number(), result.summary());
      }
    };
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new Failures);
  }
  const int own = RUN_ALL_TESTS();
  int any = own;
  MPI_Allreduce(&own, &any, 1, MPI_INT, MPI_MAX, PETSC_COMM_WORLD);
  return PetscFinalize() != 0 || any != 0 ? 1 : 0;
}
