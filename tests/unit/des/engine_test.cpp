// The engine: its configuration is exact, its call-backs are in order, there is one of it.
#include "sim/des/engine.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <stdexcept>

#include "sim/base/error.hpp"

namespace tessera {
namespace {

/// Two GPUs, one link each way of 1 GB/s; the third route names the first link three times.
EngineNetwork pair_network() {
  return {{{"a-b", BytesPerSec(1e9), Seconds(0.0), 0, 1}, {"b-a", BytesPerSec(1e9), Seconds(0.0), 1, 0}},
          3,
          [](std::size_t route) {
            return route < 2 ? std::vector{static_cast<LinkId>(route)} : std::vector(3, LinkId(0));
          }};
}
const std::vector<EngineGpu> kPair{{0, 4, BytesPerSec(1e12)}, {1, 4, BytesPerSec(1e12)}};

TEST(EngineTest, OneGigabyteAtOneGigabytePerSecondTakesOneSecond) {
  Engine engine(kPair, pair_network());
  double end = 0;
  engine.transfer(0, Bytes(1e9), [&] { end = engine.now().value(); });
  engine.run();
  EXPECT_NEAR(end, 1.0, 1e-9);
}

// SimGrid's payload is an integer; ours is not: a third of a byte takes a third of a nanosecond.
TEST(EngineTest, FlowsOfFractionsOfAByteAreExact) {
  Engine engine(kPair, pair_network());
  double end = 0;
  engine.transfer(0, Bytes(100.0 / 3), [&] { end = engine.now().value(); });
  engine.run();
  EXPECT_NEAR(end, 100.0 / 3 * 1e-9, 1e-6 * 1e-9);
}

TEST(EngineTest, FlowsShareALinkFairlyAndDirectionsAreApart) {
  Engine engine(kPair, pair_network());
  std::vector<double> ends(3);
  engine.transfer(0, Bytes(1e9), [&] { ends[0] = engine.now().value(); });
  engine.transfer(0, Bytes(2e9), [&] { ends[1] = engine.now().value(); });
  engine.transfer(1, Bytes(1e9), [&] { ends[2] = engine.now().value(); });
  engine.run();
  EXPECT_NEAR(ends[0], 2.0, 1e-9);
  EXPECT_NEAR(ends[1], 3.0, 1e-9);
  EXPECT_NEAR(ends[2], 1.0, 1e-9);
}

// One that stands for three flows takes three times its rate: a fourth of the link each.
TEST(EngineTest, ALinkNamedThriceIsTakenThrice) {
  Engine engine(kPair, pair_network());
  std::vector<double> ends(2);
  engine.transfer(0, Bytes(1e9), [&] { ends[0] = engine.now().value(); });
  engine.transfer(2, Bytes(1e9), [&] { ends[1] = engine.now().value(); });
  engine.run();
  EXPECT_NEAR(ends[0], 4.0, 1e-9);
  EXPECT_NEAR(ends[1], 4.0, 1e-9);
}

// 3 TB/s wanted of 1 TB/s: one SM gets a fourth, and wants less; the other three get the rest.
TEST(EngineTest, MemoryIsSharedPerSmUpToWhatEachWants) {
  Engine engine(kPair, pair_network());
  std::vector<double> ends(2);
  engine.memory(0, 1, Bytes(1e9), BytesPerSec(0.1e12), [&] { ends[0] = engine.now().value(); });
  engine.memory(0, 3, Bytes(9e9), BytesPerSec(3e12), [&] { ends[1] = engine.now().value(); });
  engine.run();
  EXPECT_NEAR(ends[0], 1e9 / 0.1e12, 1e-12);
  EXPECT_NEAR(ends[1], 9e9 / 0.9e12, 1e-12);
}

TEST(EngineTest, CallsOfOneInstantComeInTheOrderOfAsking) {
  Engine engine(kPair, pair_network());
  std::string order;
  for (const char letter : {'a', 'b', 'c', 'd', 'e', 'f'}) {
    engine.at(Seconds(1.0), [&order, letter] { order += letter; });
  }
  engine.at(Seconds(0.5), [&] { engine.at(Seconds(0.25), [&] { order += '!'; }); });
  engine.run();
  EXPECT_EQ(order, "!abcdef");
  EXPECT_DOUBLE_EQ(engine.now().value(), 1.0);
}

TEST(EngineTest, AfterThisInstantComesAfterItsCompletionsFromCallsAndFromCompletions) {
  Engine engine(kPair, pair_network());
  std::string order;
  engine.at(Seconds(1e-3), [&] { engine.after_this_instant([&] { order += 's'; }); });
  for (int i = 0; i < 2; ++i) {
    engine.compute(0, 1, Seconds(1e-3), [&] {
      order += 'c';
      engine.after_this_instant([&] { order += 't'; });
    });
  }
  engine.run();
  EXPECT_EQ(order.find_last_of('c'), 1u) << order;
  EXPECT_NEAR(engine.now().value(), 1e-3, 1e-15);
}

std::string failure_of(Engine& engine) {
  try {
    engine.run();
  } catch (const RunError& error) {
    return error.what();
  }
  return "";
}

TEST(EngineTest, ExceptionOfACompletionIsARunErrorWithItsDate) {
  Engine engine(kPair, pair_network());
  bool later = false;
  engine.compute(0, 1, Seconds(1.0), [] { throw std::runtime_error("a policy lost its head"); });
  engine.compute(0, 1, Seconds(2.0), [&] { later = true; });
  EXPECT_EQ(failure_of(engine), "the simulation failed at 1.00 s: a policy lost its head");
  EXPECT_FALSE(later);
}

TEST(EngineTest, ExceptionOfATimerIsARunErrorWithItsDate) {
  Engine engine(kPair, pair_network());
  engine.at(Seconds(0.25), [] { throw std::out_of_range("no such thing"); });
  engine.at(Seconds(5.0), [] { throw std::logic_error("never reached"); });
  engine.compute(0, 1, Seconds(2.0), [] {});
  EXPECT_EQ(failure_of(engine), "the simulation failed at 250 ms: no such thing");
}

TEST(EngineTest, AFlowOfMoreThanItCountsIsARunError) {
  Engine engine(kPair, pair_network());
  engine.at(Seconds(0.25), [&] { engine.transfer(0, Bytes(1e13), [] {}); });
  EXPECT_EQ(failure_of(engine),
            "the simulation failed at 250 ms: a flow of 1e+13 bytes is more than the event loop counts, 8.8e+12");
}

TEST(EngineTest, SecondEngineInAProcessIsRefused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  { const Engine first(kPair, pair_network()); }
  EXPECT_DEATH(Engine(kPair, pair_network()), "one engine per process");
}

TEST(EngineTest, SignalHandlersStayOurs) {
  const auto before = std::signal(SIGINT, SIG_IGN);
  const Engine engine(kPair, pair_network());
  EXPECT_EQ(std::signal(SIGINT, before), SIG_IGN);
}

}  // namespace
}  // namespace tessera
