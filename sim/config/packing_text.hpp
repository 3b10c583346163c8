// Text that grows piece by piece and packs itself once it is long, on a thread of its own, so that it need never be in
// memory as a whole.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace tessera {

class PackingText {
 public:
  /// Up to `plain_limit` bytes stay plain; what is longer becomes gzip, of the fastest level.
  explicit PackingText(std::size_t plain_limit);
  ~PackingText();
  PackingText(PackingText&&) noexcept;
  PackingText& operator=(PackingText&&) noexcept;

  void append(std::string_view piece);

  struct Content {
    std::string bytes;
    bool packed = false;
  };
  /// All that was appended; the object is spent.
  [[nodiscard]] Content take();

 private:
  class Deflater;
  void pack();

  std::size_t limit_;                   // of `waiting_`
  std::string waiting_;                 // not packed yet
  std::unique_ptr<Deflater> deflater_;  // none: plain so far
};

}  // namespace tessera
