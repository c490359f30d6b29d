#pragma once

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

namespace blockjacobi::fuzz {

inline constexpr int gzip_wrapper = 16 + MAX_WBITS;

/// The text as gzip packs it.
inline std::string packed(std::string_view text) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, gzip_wrapper, 8, Z_DEFAULT_STRATEGY) != Z_OK) std::abort();
  std::string bytes(deflateBound(&stream, static_cast<uLong>(text.size())) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) std::abort();
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

/// The first 64 KiB of what the bytes unpack to, as far as they do.
inline std::string unpacked(std::string_view bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, gzip_wrapper) != Z_OK) std::abort();
  std::string text(std::size_t{1} << 16, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  static_cast<void>(inflate(&stream, Z_FINISH));
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

}  // namespace blockjacobi::fuzz
