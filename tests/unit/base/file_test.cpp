#include "sim/base/file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "sim/base/error.hpp"
#include "sim/base/paths.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class File : public testing::Test {
 protected:
  File() : folder_(fs::path(testing::TempDir()) / ("tessera-file-" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~File() override { fs::remove_all(folder_); }

  static std::string message_of_reading(const fs::path& path) {
    try {
      read_file(path);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  }

  fs::path folder_;
};

TEST_F(File, WhatIsWrittenIsReadBack) {
  const std::string bytes("a\0b\r\n\xff", 6);
  write_file(folder_ / "new" / "deep" / "x.bin", bytes);
  EXPECT_EQ(read_file(folder_ / "new" / "deep" / "x.bin"), bytes);
}

TEST_F(File, WritingReplacesAndLeavesNothingBeside) {
  write_file(folder_ / "x", "a longer first version");
  write_file(folder_ / "x", "second");
  EXPECT_EQ(read_file(folder_ / "x"), "second");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(File, PipesAndDevicesCanBeRead) {
  EXPECT_EQ(read_file("/dev/null"), "");
}

TEST_F(File, AStreamWithoutAnEndIsRefused) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_EQ(std::system(("yes >'" + pipe.string() + "' 2>&1 &").c_str()), 0);  // ends when the pipe is closed
  EXPECT_THAT(message_of_reading(pipe), EndsWith("gives more than 256 MiB; expected a file or a shorter stream"));
}

TEST_F(File, PipesAreWrittenIntoAndStayPipes) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = read_file(pipe); });
  write_file(pipe, "through");
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(File, LinksStayAndTheirTargetIsWritten) {
  fs::create_directories(folder_ / "sub");
  fs::create_symlink("sub/target", folder_ / "link");
  fs::create_symlink(folder_ / "link", folder_ / "link-to-link");
  for (const std::string content : {"made", "replaced"}) {
    write_file(folder_ / "link-to-link", content);
    EXPECT_EQ(read_file(folder_ / "sub" / "target"), content);
  }
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link-to-link"));
  fs::create_symlink("circle", folder_ / "circle");
  EXPECT_THROW(write_file(folder_ / "circle", "x"), RunError);
}

TEST_F(File, MissingFileNamesItAndItsNeighbour) {
  write_file(folder_ / "quickstart.yaml", "");
  const fs::path wanted = folder_ / "quikstart.yaml";
  EXPECT_EQ(message_of_reading(wanted), wanted.string() + ": error: no such file; did you mean 'quickstart.yaml'?");
  EXPECT_THAT(message_of_reading(folder_ / "zzz"), EndsWith("no such file"));
  EXPECT_THAT(message_of_reading("/no/such/folder/x"), EndsWith("no such file"));
}

TEST_F(File, FolderIsNoFile) {
  EXPECT_THAT(message_of_reading(folder_), HasSubstr("is a folder; expected a file"));
  EXPECT_THAT(message_of_reading("/dev/null/x"), HasSubstr("/dev/null/x: error: "));
}

TEST_F(File, UnwritableFolderIsARunError) {
  write_file(folder_ / "file", "");
  try {
    write_file(folder_ / "file" / "x",
               "y");  // a file in the place of a folder: no permissions needed, so root fails too
    FAIL();
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), StartsWith("cannot write " + (folder_ / "file" / "x").string()));
  }
}

TEST_F(File, NoHalfFileWhenRenamingFails) {
  fs::create_directories(folder_ / "target" / "x");
  EXPECT_THROW(write_file(folder_ / "target", "y"), RunError);  // a folder is in the way
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(File, HomeIsTheSourceTreeUnlessSet) {
  ::unsetenv("TESSERA_HOME");
  EXPECT_TRUE(fs::exists(home() / "CMakeLists.txt")) << home();
  fs::create_directories(folder_ / "platforms");
  ::setenv("TESSERA_HOME", folder_.c_str(), 1);
  EXPECT_EQ(home(), folder_);
  ::unsetenv("TESSERA_HOME");
}

TEST_F(File, HomeWithoutPlatformsIsNamed) {
  ::setenv("TESSERA_HOME", folder_.c_str(), 1);
  try {
    home();
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(), "TESSERA_HOME: error: no folder platforms/ in '" + folder_.string() +
                                "'; expected the folder that holds platforms/, scenarios/ and calibration/");
  }
  ::unsetenv("TESSERA_HOME");
}

}  // namespace
}  // namespace tessera
