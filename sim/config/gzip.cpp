#include "sim/config/gzip.hpp"

#include <fmt/format.h>
#define ZLIB_CONST  // next_in points to const
#include <zlib.h>

#include <algorithm>
#include <future>
#include <limits>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/config/packing_text.hpp"

namespace tessera {

namespace {

constexpr int kGzip = 16 + MAX_WBITS;  // a gzip header and checksum around the deflated data
constexpr std::size_t kChunk = std::size_t{1} << 18;
constexpr std::size_t kPackedAtOnce = std::size_t{1} << 21;

// zlib counts in 32 bits: input is handed over in pieces.
void feed(z_stream& stream, std::string_view& rest) {
  if (stream.avail_in != 0 || rest.empty()) return;
  const std::size_t size = std::min<std::size_t>(rest.size(), std::numeric_limits<uInt>::max());
  stream.next_in = reinterpret_cast<const Bytef*>(rest.data());
  stream.avail_in = static_cast<uInt>(size);
  rest.remove_prefix(size);
}

/// Gives zlib room at the end of `out`, calls `step`, and keeps what it wrote.
template <class Step>
int run(z_stream& stream, std::string& out, Step step) {
  const std::size_t before = out.size();
  out.resize(before + kChunk);
  stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
  stream.avail_out = static_cast<uInt>(kChunk);
  const int status = step(stream);
  out.resize(out.size() - stream.avail_out);
  return status;
}

/// Data that becomes one gzip archive, piece by piece.
class Deflating {
 public:
  explicit Deflating(int level) {
    TESSERA_ASSERT(deflateInit2(&stream_, level, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK,
                   "zlib cannot start");
  }
  ~Deflating() { deflateEnd(&stream_); }
  Deflating(const Deflating&) = delete;
  Deflating& operator=(const Deflating&) = delete;

  void write(std::string_view data, bool last, std::string& out) {
    int status = Z_OK;
    do {
      feed(stream_, data);
      const int flush = last && data.empty() ? Z_FINISH : Z_NO_FLUSH;
      status = run(stream_, out, [flush](z_stream& s) { return deflate(&s, flush); });
    } while (last ? status != Z_STREAM_END : stream_.avail_in > 0 || !data.empty());
  }

 private:
  z_stream stream_{};
};

std::string gunzip(std::string_view data, const std::string& file) {
  z_stream stream{};
  TESSERA_ASSERT(inflateInit2(&stream, kGzip) == Z_OK, "zlib cannot start");
  std::string out;
  int status = Z_OK;
  while (status == Z_OK || status == Z_STREAM_END) {
    feed(stream, data);
    if (status == Z_STREAM_END) {
      if (stream.avail_in == 0) break;
      inflateReset(&stream);  // archives may follow one another
    }
    status = run(stream, out, [](z_stream& s) { return inflate(&s, Z_NO_FLUSH); });
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END) {
    const char* why = status == Z_BUF_ERROR ? "it ends too early" : "it is not what was packed";
    throw InputError(Diagnostic{.file = file, .message = fmt::format("a damaged gzip archive: {}", why)});
  }
  return out;
}

}  // namespace

std::string gzip(std::string_view data) {
  Deflating stream(Z_DEFAULT_COMPRESSION);
  std::string out;
  stream.write(data, true, out);
  return out;
}

/// One piece is packed while the next one grows.
class PackingText::Deflater {
 public:
  void start(std::string& piece, bool last) {
    wait();
    std::swap(piece_, piece);
    piece.clear();
    packing_ = std::async(std::launch::async, [this, last] { stream_.write(piece_, last, packed_); });
  }
  std::string take() {
    wait();
    return std::move(packed_);
  }

 private:
  void wait() {
    if (packing_.valid()) packing_.get();
  }

  Deflating stream_{Z_BEST_SPEED};
  std::string piece_, packed_;
  std::future<void> packing_;  // last: its destructor waits for the thread, which uses the others
};

PackingText::PackingText(std::size_t plain_limit) : limit_(plain_limit) {}
PackingText::~PackingText() = default;
PackingText::PackingText(PackingText&&) noexcept = default;
PackingText& PackingText::operator=(PackingText&&) noexcept = default;

void PackingText::append(std::string_view piece) {
  waiting_ += piece;
  if (waiting_.size() > limit_) pack();
}

void PackingText::pack() {
  if (!deflater_) deflater_ = std::make_unique<Deflater>();
  deflater_->start(waiting_, false);
  limit_ = std::min(limit_, kPackedAtOnce);
}

PackingText::Content PackingText::take() {
  if (!deflater_) return {std::move(waiting_), false};
  deflater_->start(waiting_, true);
  return {deflater_->take(), true};
}

std::string read_maybe_gzip(const std::filesystem::path& path) {
  std::string content = read_file(path);
  if (!content.starts_with("\x1f\x8b")) return content;
  return gunzip(content, path.string());
}

}  // namespace tessera
