// Contexts of a PETSc with CUDA, each with a stream of its own: an application and its vectors wait for one another.
#include "unit/adapters/petsc_device.hpp"

#if defined(PETSC_HAVE_CUDA) && PETSC_VERSION_GE(3, 20, 0)
#include <petscdevice.h>

namespace blockjacobi::test {
namespace {

using T = PetscScalar;
class PetscContextsTest : public PetscDeviceTest {};

#if PETSC_VERSION_GE(3, 21, 0)
constexpr auto nonblocking = PETSC_STREAM_NONBLOCKING, blocking = PETSC_STREAM_DEFAULT;
#else
constexpr auto nonblocking = PETSC_STREAM_GLOBAL_NONBLOCKING, blocking = PETSC_STREAM_GLOBAL_BLOCKING;
#endif

/// Another context of PETSc, which is another stream that waits for none by itself, as the current one.
class OtherContext {
 public:
  OtherContext() {
    must(PetscDeviceContextGetCurrentContext(&before_));
    must(PetscDeviceContextCreate(&other_));
    change_stream(nonblocking);
  }
  ~OtherContext() {
    leave();
    static_cast<void>(PetscDeviceContextDestroy(&other_));
  }
  OtherContext(const OtherContext&) = delete;
  OtherContext& operator=(const OtherContext&) = delete;

  void enter() const { must(PetscDeviceContextSetCurrentContext(other_)); }
  void leave() const { static_cast<void>(PetscDeviceContextSetCurrentContext(before_)); }
  void change_stream(PetscStreamType type) const {
    must(PetscDeviceContextSetStreamType(other_, type));
    must(PetscDeviceContextSetUp(other_));
  }
  void wait_for_both() const {
    must(PetscDeviceContextSynchronize(before_));
    must(PetscDeviceContextSynchronize(other_));
  }

 private:
  PetscDeviceContext before_ = nullptr, other_ = nullptr;
};

/// Work for the current context that takes some 20 ms, far longer than a host needs to enqueue what comes behind it.
class LongWork {
 public:
  LongWork() {
    must(VecCreate(PETSC_COMM_SELF, v_.address()));
    must(VecSetSizes(v_, PetscInt{1} << 26, PETSC_DETERMINE));
    must(VecSetType(v_, VECSEQCUDA));
    must(VecSet(v_, T(1)));
  }
  void enqueue(int passes = 50) const {
    for (int i = 0; i < passes; ++i) must(VecScale(v_, i % 2 == 0 ? T(2) : T(0.5)));
  }

 private:
  OwnedVec v_;
};

/// Vectors that stay on the device: r, z and w start as zeros, `given` is the usual right-hand side.
struct VectorsThere {
  explicit VectorsThere(Mat A) : given(vector_of(A, true)) {
    for (OwnedVec* v : {&r, &z, &w}) {
      must(VecDuplicate(given, v->address()));
      must(VecCopy(given, *v));  // with memory on the device
      must(VecSet(*v, T(0)));
    }
  }

  OwnedVec given, r, z, w;
};

/// The inverses were made under the context of the start, in whose stream they are applied.
struct Contexts {
  System system = family(matrices::BlockFamily::spd, {8, 3}, 4000);
  OwnedMat A = on_device(system);
  OwnedKsp ksp = solver_of(A, ours);
  PC pc = preconditioner_of(ksp);
  std::vector<T> expected = applied(pc, A);
  VectorsThere v{A};
  LongWork work;
  OtherContext other;

  Contexts() {
    other.enter();
    work.enqueue(1);  // loads kernels
    must(VecCopy(v.z, v.w));
    other.leave();
    work.enqueue(1);
    other.wait_for_both();
  }
};

TEST_F(PetscContextsTest, AnApplicationWaitsForTheContextThatWritesItsVector) {
  const Contexts c;
  c.other.enter();
  c.work.enqueue();
  must(VecCopy(c.v.given, c.v.r));
  must(PCApply(c.pc, c.v.r, c.v.z));
  must(VecCopy(c.v.z, c.v.w));
  c.other.wait_for_both();
  c.other.leave();
  EXPECT_EQ(values_of(c.v.w), c.expected);
}

/// PETSc destroys the stream that the context had, in which the inverses were made.
TEST_F(PetscContextsTest, AContextMayGetAnotherStream) {
  const System system = family(matrices::BlockFamily::spd, {8, 3}, 4000);
  const OtherContext other;
  other.enter();
  const OwnedMat A = on_device(system);
  OwnedKsp ksp = solver_of(A, ours);
  const PC pc = preconditioner_of(ksp);
  std::vector<T> expected = applied(pc, A);
  const auto change_stream = [&](PetscStreamType type) {
    other.wait_for_both();
    other.change_stream(type);
  };
  for (const PetscStreamType type : {blocking, nonblocking}) {
    change_stream(type);
    EXPECT_EQ(applied(pc, A), expected);
    change_stream(type == blocking ? nonblocking : blocking);
    EXPECT_TRUE(contains(viewed(pc), "0 singular blocks"));
    change_stream(type);
    must(MatScale(A, 2.0));
    for (T& value : expected) value /= T(2);
    EXPECT_EQ(applied(pc, A), expected);
  }
  change_stream(blocking);
  ksp = {};  // gives memory back
  other.wait_for_both();
  other.leave();
}

TEST_F(PetscContextsTest, TheContextThatReadsTheResultWaitsForTheApplication) {
  const Contexts c;
  must(VecCopy(c.v.given, c.v.r));
  c.work.enqueue();
  c.other.enter();
  must(PCApply(c.pc, c.v.r, c.v.z));
  must(VecCopy(c.v.z, c.v.w));
  c.other.wait_for_both();
  c.other.leave();
  EXPECT_EQ(values_of(c.v.w), c.expected);
}

}  // namespace
}  // namespace blockjacobi::test
#endif
