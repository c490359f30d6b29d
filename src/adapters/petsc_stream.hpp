#pragma once

#include <petscdevice.h>

struct CUstream_st;

namespace blockjacobi::petsc {

/// The stream of a backend on PETSc's device: that of the context that was PETSc's current one when it was taken. Work
/// under other contexts is ordered with it by PETSc's own events, so that nothing waits on the host.
class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Takes PETSc's current context; the number of its device.
  PetscErrorCode take([[maybe_unused]] PetscInt* device) {
    PetscFunctionBegin;
    PetscCall(reset());
#if defined(PETSC_HAVE_CUDA)
    PetscDevice current = nullptr;
    PetscCall(PetscDeviceContextGetCurrentContext(&context_));
    PetscCall(PetscObjectReference(reinterpret_cast<PetscObject>(context_)));
    PetscCall(PetscDeviceContextGetDevice(context_, &current));
    PetscCall(PetscDeviceGetDeviceId(current, device));
#endif
    PetscFunctionReturn(static_cast<PetscErrorCode>(0));
  }

  /// CUDA's stream, now: PetscDeviceContextSetStreamType() puts another in its place. Null, the default one, before
  /// PETSc 3.20.
  PetscErrorCode handle(CUstream_st** stream) const {
    PetscFunctionBegin;
    *stream = nullptr;
#if defined(PETSC_HAVE_CUDA) && PETSC_VERSION_GE(3, 20, 0)
    void* found = nullptr;
    PetscCall(PetscDeviceContextGetStreamHandle(context_, &found));
    *stream = *static_cast<CUstream_st**>(found);
#endif
    PetscFunctionReturn(static_cast<PetscErrorCode>(0));
  }

  /// f() behind what was enqueued under PETSc's current context, and that goes on behind f().
  template <class F>
  PetscErrorCode ordered(F f) {
    PetscFunctionBegin;
#if defined(PETSC_HAVE_CUDA)
    PetscDeviceContext current = nullptr;
    PetscCall(PetscDeviceContextGetCurrentContext(&current));
    if (current != context_) {
      PetscCall(PetscDeviceContextWaitForContext(context_, current));
      const PetscErrorCode code = f();
      PetscCall(PetscDeviceContextWaitForContext(current, context_));  // also for what f() did before an error
      PetscCall(code);
      PetscFunctionReturn(static_cast<PetscErrorCode>(0));
    }
#endif
    PetscCall(f());
    PetscFunctionReturn(static_cast<PetscErrorCode>(0));
  }

  PetscErrorCode reset() {
    PetscFunctionBegin;
#if defined(PETSC_HAVE_CUDA)
    PetscCall(PetscDeviceContextDestroy(&context_));
#endif
    PetscFunctionReturn(static_cast<PetscErrorCode>(0));
  }

 private:
#if defined(PETSC_HAVE_CUDA)
  PetscDeviceContext context_ = nullptr;
#endif
};

}  // namespace blockjacobi::petsc
