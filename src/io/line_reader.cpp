#include "io/line_reader.hpp"

#include "core/message.hpp"
#include "io/gzip_name.hpp"

#include <blockjacobi/error.hpp>

#include <cstring>

namespace blockjacobi::detail {

namespace {

constexpr std::size_t buffer_capacity = std::size_t{1} << 20;

std::string_view without_carriage_return(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

}  // namespace

LineReader::LineReader(const std::filesystem::path& path)
    : path_(path.string()), packed_(has_gzip_name(path)), buffer_(buffer_capacity) {
  try {
    source_ = open_byte_source(path);
  } catch (const Error& error) {
    fail_at(0, error.what());
  }
}

bool LineReader::next() {
  std::size_t searched = 0;
  for (;;) {
    const char* start = buffer_.data() + begin_;
    const std::size_t size = end_ - begin_;
    const void* newline = std::memchr(start + searched, '\n', size - searched);
    if (newline != nullptr) {
      const auto length = static_cast<std::size_t>(static_cast<const char*>(newline) - start);
      line_ = without_carriage_return({start, length});
      begin_ += length + 1;
      ++number_;
      return true;
    }
    if (exhausted_) {
      if (size == 0) return false;
      line_ = without_carriage_return({start, size});
      begin_ = end_;
      ++number_;
      return true;
    }
    searched = size;
    refill();
  }
}

void LineReader::refill() {
  const offset_t line = number_ + 1;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size())
    fail_at(line,
            detail::message("the line is longer than {} bytes: {}", buffer_.size(), quoted({buffer_.data(), end_})));
  try {
    const std::size_t count = source_->read(buffer_.data() + end_, buffer_.size() - end_);
    end_ += count;
    text_ += count;
    exhausted_ = count == 0;
  } catch (const Error& error) {
    fail_at(line, error.what());
  }
  if (packed_ && text_ > text_limit_)
    fail_at(line,
            detail::message("the file unpacks to more than {} bytes of text, which its size line does not account "
                            "for (MatrixMarketLimits::text_per_entry)",
                            text_limit_));
}

void LineReader::fail_at(offset_t line, const std::string& message) const { throw ParseError(path_, line, message); }

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string result = "'";
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\t' || (byte >= 0x20 && byte != 0x7f))
      result += c;
    else
      result += detail::message("\\x{:02x}", byte);
  }
  return result + (text.size() > longest ? "...'" : "'");
}

}  // namespace blockjacobi::detail
