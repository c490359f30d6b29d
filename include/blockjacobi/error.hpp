#pragma once

#include <blockjacobi/export.hpp>
#include <blockjacobi/types.hpp>

#include <stdexcept>
#include <string>

namespace blockjacobi {

// Three kinds: misuse throws InvalidArgument (or ParseError for files) before anything runs, a failing environment
// throws CudaError, BackendUnavailable or Unavailable, and numerical outcomes are values (info, SolveReport). The one
// exception is SingularBlock, which SingularPolicy::fail asks for.

/// Base of everything the library throws itself.
class BLOCKJACOBI_EXPORT Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~Error() override;
};

/// An argument breaks a documented precondition; the message holds the actual numbers.
class BLOCKJACOBI_EXPORT InvalidArgument : public Error {
 public:
  using Error::Error;
  ~InvalidArgument() override;
};

/// A file is malformed; what() reads "path:line: message".
class BLOCKJACOBI_EXPORT ParseError : public Error {
 public:
  ParseError(std::string path, offset_t line, const std::string& message);
  ~ParseError() override;
  const std::string& path() const noexcept { return path_; }
  /// 1-based; 0 if the file could not be opened.
  offset_t line() const noexcept { return line_; }

 private:
  std::string path_;
  offset_t line_;
};

/// The backend asked for was not compiled in, or its device is absent.
class BLOCKJACOBI_EXPORT BackendUnavailable : public Error {
 public:
  using Error::Error;
  ~BackendUnavailable() override;
};

/// A library that this build of blockjacobi does without was asked for.
class BLOCKJACOBI_EXPORT Unavailable : public Error {
 public:
  using Error::Error;
  ~Unavailable() override;
};

/// A CUDA or cuSPARSE call failed; what() names the call, the error and file:line.
class BLOCKJACOBI_EXPORT CudaError : public Error {
 public:
  CudaError(int code, const std::string& message);
  ~CudaError() override;
  /// The library's numeric status.
  int code() const noexcept { return code_; }

 private:
  int code_;
};

/// Thrown at construction of a BlockJacobi under SingularPolicy::fail.
class BLOCKJACOBI_EXPORT SingularBlock : public Error {
 public:
  SingularBlock(index_t block, index_t first_row, index_t size, int info, const std::string& message);
  ~SingularBlock() override;
  index_t block() const noexcept { return block_; }
  index_t first_row() const noexcept { return first_row_; }
  index_t size() const noexcept { return size_; }
  /// As BlockJacobi::info().
  int info() const noexcept { return info_; }

 private:
  index_t block_, first_row_, size_;
  int info_;
};

}  // namespace blockjacobi
