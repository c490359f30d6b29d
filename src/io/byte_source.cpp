#include "io/byte_source.hpp"

#include "core/message.hpp"
#include "io/gzip_name.hpp"

#include <blockjacobi/error.hpp>

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

namespace blockjacobi::detail {

namespace {

class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::filesystem::path& path) {
    if (std::filesystem::is_directory(path)) throw Error("is a directory");
    file_.reset(std::fopen(path.c_str(), "rb"));
    if (!file_) throw Error(detail::message("cannot open: {}", std::strerror(errno)));
    // why: callers read in large pieces, a second buffer would only copy.
    std::setvbuf(file_.get(), nullptr, _IONBF, 0);
  }

  std::size_t read(char* destination, std::size_t size) override {
    const std::size_t count = std::fread(destination, 1, size, file_.get());
    if (count < size && std::ferror(file_.get()) != 0)
      throw Error(detail::message("cannot read: {}", std::strerror(errno)));
    return count;
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

/// One or more gzip members back to back, with zero padding behind them allowed, as gzip(1) reads them.
class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(const std::filesystem::path& path) : file_(path), packed_(packed_capacity) {
    constexpr int gzip_wrapper_only = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, gzip_wrapper_only) != Z_OK) throw Error("cannot start zlib: out of memory");
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  std::size_t read(char* destination, std::size_t size) override {
    const auto capacity = static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
    stream_.next_out = reinterpret_cast<Bytef*>(destination);
    stream_.avail_out = capacity;
    while (stream_.avail_out == capacity) {
      if (stream_.avail_in == 0) refill();
      if (at_member_boundary_) skip_padding();
      if (stream_.avail_in == 0) {
        if (exhausted_ && !at_member_boundary_) throw Error("the gzip data are truncated");
        if (exhausted_) return 0;
        continue;
      }
      inflate_some();
    }
    return capacity - stream_.avail_out;
  }

 private:
  static constexpr std::size_t packed_capacity = std::size_t{1} << 18;

  void refill() {
    const std::size_t count = file_.read(reinterpret_cast<char*>(packed_.data()), packed_.size());
    stream_.next_in = packed_.data();
    stream_.avail_in = static_cast<uInt>(count);
    exhausted_ = count == 0;
  }

  void skip_padding() {
    if (!any_member_) return;
    while (stream_.avail_in > 0 && *stream_.next_in == 0) {
      ++stream_.next_in;
      --stream_.avail_in;
    }
  }

  void inflate_some() {
    at_member_boundary_ = false;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      at_member_boundary_ = true;
      any_member_ = true;
      inflateReset(&stream_);
    } else if (status != Z_OK) {
      throw Error(
          detail::message("the gzip data are corrupt: {}", stream_.msg != nullptr ? stream_.msg : zError(status)));
    }
  }

  FileSource file_;
  std::vector<Bytef> packed_;
  z_stream stream_{};
  bool at_member_boundary_ = true;
  bool any_member_ = false;
  bool exhausted_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> open_byte_source(const std::filesystem::path& path) {
  if (has_gzip_name(path)) return std::make_unique<GzipSource>(path);
  return std::make_unique<FileSource>(path);
}

}  // namespace blockjacobi::detail
