#include "sim/config/gzip.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "sim/base/file.hpp"
#include "sim/base/rng.hpp"
#include "sim/config/packing_text.hpp"
#include "tests/unit/config/message.hpp"

namespace tessera {
namespace {

class Gzip : public testing::Test {
 protected:
  ~Gzip() override { std::filesystem::remove(path_); }
  std::string unpack(const std::string& content) {
    write_file(path_, content);
    return read_maybe_gzip(path_);
  }
  std::string path_ = testing::TempDir() + "tessera-gzip-" + std::to_string(::getpid()) + ".gz";
};

TEST_F(Gzip, RoundTrips) {
  Rng rng(1);
  std::string noise(700'000, 0);  // more than one chunk, and hardly packed
  for (char& c : noise) c = static_cast<char>(rng.below(256));
  for (const std::string& text : {std::string(), std::string("x"), std::string(3'000'000, 'a'), noise}) {
    EXPECT_EQ(unpack(gzip(text)), text);
  }
}

TEST_F(Gzip, SameInputSameBytes) {
  EXPECT_EQ(gzip("text"), gzip("text"));
  EXPECT_LT(gzip(std::string(100'000, 'a')).size(), 1000U);
}

TEST_F(Gzip, PlainFilesAreReadAsTheyAre) {
  EXPECT_EQ(unpack("plain"), "plain");
  EXPECT_EQ(unpack(""), "");
}

TEST_F(Gzip, ArchivesMayFollowOneAnother) {
  EXPECT_EQ(unpack(gzip("one ") + gzip("two")), "one two");
}

TEST_F(Gzip, TextPacksItselfWhereItIsLong) {
  for (const int pieces : {0, 10, 11, 100'000}) {
    PackingText text(100);
    std::string whole;
    for (int i = 0; i < pieces; ++i) {
      const std::string piece = fmt::format("{:09}\n", i);
      text.append(piece);
      whole += piece;
    }
    const PackingText::Content content = text.take();
    EXPECT_EQ(content.packed, whole.size() > 100) << pieces;
    EXPECT_EQ(unpack(content.bytes), whole) << pieces;
  }
}

TEST_F(Gzip, Damage) {
  const std::string whole = gzip(std::string(1000, 'a') + "end");
  EXPECT_EQ(message_of([&] { unpack(whole.substr(0, whole.size() / 2)); }),
            path_ + ": error: a damaged gzip archive: it ends too early");
  std::string flipped = whole;
  flipped[flipped.size() - 6] ^= 1;  // in the checksum
  EXPECT_EQ(message_of([&] { unpack(flipped); }), path_ + ": error: a damaged gzip archive: it is not what was packed");
}

}  // namespace
}  // namespace tessera
