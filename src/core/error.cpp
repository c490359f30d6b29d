#include <blockjacobi/error.hpp>

#include "core/message.hpp"

#include <utility>

namespace blockjacobi {

namespace {

std::string located(const std::string& path, offset_t line, const std::string& message) {
  return line > 0 ? detail::message("{}:{}: {}", path, line, message) : detail::message("{}: {}", path, message);
}

}  // namespace

// Out of line, so that vtable and type information live in the library and exceptions can be caught across it.
Error::~Error() = default;
InvalidArgument::~InvalidArgument() = default;
ParseError::~ParseError() = default;
BackendUnavailable::~BackendUnavailable() = default;
Unavailable::~Unavailable() = default;
CudaError::~CudaError() = default;
SingularBlock::~SingularBlock() = default;

ParseError::ParseError(std::string path, offset_t line, const std::string& message)
    : Error(located(path, line, message)), path_(std::move(path)), line_(line) {}

CudaError::CudaError(int code, const std::string& message) : Error(message), code_(code) {}

SingularBlock::SingularBlock(index_t block, index_t first_row, index_t size, int info, const std::string& message)
    : Error(message), block_(block), first_row_(first_row), size_(size), info_(info) {}

}  // namespace blockjacobi
