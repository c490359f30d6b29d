// The tests of the PETSc adapter: all ranks run all of them, and a failure on any rank is one of the program. A test
// that does not end, as one does in which ranks wait for each other, ends the program with what each rank was doing;
// one that the machine stops, with where.
#include <blockjacobi/adapters/petsc.h>

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <execinfo.h>
#include <unistd.h>

namespace {

/// Seconds that a test may take; 0 for as long as it likes. Tools that make programs slow want more.
unsigned seconds_of_a_test() {
  const char* asked = std::getenv("BLOCKJACOBI_TEST_SECONDS");
  return asked != nullptr ? static_cast<unsigned>(std::strtoul(asked, nullptr, 10)) : 120;
}

/// Made before each test: a handler of signals had better not put text together.
std::string& current() {
  static std::string text;
  return text;
}

void show(const char* what) {
  constexpr int depth = 64;
  void* frames[depth];
  auto written = write(STDERR_FILENO, what, std::strlen(what));
  if (written > 0) written = write(STDERR_FILENO, current().data(), current().size());
  if (written > 0) backtrace_symbols_fd(frames, backtrace(frames, depth), STDERR_FILENO);
}

extern "C" void show_and_abort(int) {
  show("no end of ");
  alarm(20);  // ends this rank where MPI does not
  sleep(3);   // for the other ranks to show where they are
  MPI_Abort(PETSC_COMM_WORLD, 3);
}

/// Ends as it would have without a handler.
extern "C" void show_fault(int signal) {
  show("fault in ");
  raise(signal);
}

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER) | flags;
  sigaction(signal, &action, nullptr);
}

/// In place of PETSc's, which says no more than that there was one; on a stack of their own, as that of the fault may
/// be used up.
void watch_for_faults() {
  static std::vector<char> own(64 << 10);
  stack_t stack{};
  stack.ss_sp = own.data();
  stack.ss_size = own.size();
  sigaltstack(&stack, nullptr);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) handle(signal, show_fault, SA_ONSTACK);
}

class Watch final : public ::testing::EmptyTestEventListener {
 public:
  explicit Watch(int rank) : rank_(rank) {
    void* frame = nullptr;
    backtrace(&frame, 1);  // loads what it needs, which a handler could not
    handle(SIGALRM, show_and_abort, 0);
    watch_for_faults();
  }

 private:
  void OnTestStart(const ::testing::TestInfo& test) override {
    current() = std::string(test.test_suite_name()) + "." + test.name() + " on rank " + std::to_string(rank_) + "\n";
    alarm(seconds_);
  }

  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    // The first rank has a printer.
    if (rank_ != 0 && result.failed())
      std::fprintf(stderr, "rank %d, %s:%d: %s\n", rank_, result.file_name(), result.line_number(), result.summary());
  }

  /// Ranks that failed alone are named before the next test.
  void OnTestEnd(const ::testing::TestInfo& test) override {
    int ranks = 1;
    MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
    const int own = test.result()->Failed() ? 1 : 0;
    std::vector<int> all(static_cast<std::size_t>(ranks));
    MPI_Allgather(&own, 1, MPI_INT, all.data(), 1, MPI_INT, PETSC_COMM_WORLD);
    alarm(0);
    for (int rank = 0; rank_ == 0 && own == 0 && rank < ranks; ++rank)
      if (all[static_cast<std::size_t>(rank)] != 0)
        std::printf("[  FAILED  ] %s.%s on rank %d\n", test.test_suite_name(), test.name(), rank);
    std::fflush(stdout);
  }

  int rank_;
  unsigned seconds_ = seconds_of_a_test();
};

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  // What is left on the command line is ours; each test states its options.
  if (PetscInitialize(nullptr, nullptr, nullptr, nullptr) != 0) return 2;
  int rank = 0;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  if (bj_petsc_register() != 0 || bj_petsc_register() != 0) return 2;
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new Watch(rank));
  const int own = RUN_ALL_TESTS();
  int any = own;
  MPI_Allreduce(&own, &any, 1, MPI_INT, MPI_MAX, PETSC_COMM_WORLD);
  return PetscFinalize() != 0 || any != 0 ? 1 : 0;
}
