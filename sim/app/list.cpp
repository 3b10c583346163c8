#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "models/latency_model.hpp"
#include "models/profile.hpp"
#include "sim/app/verbs.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/cluster/catalogue.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/config/json.hpp"
#include "sim/dispatch/policy.hpp"
#include "sim/graph/model_config.hpp"
#include "sim/place/jobs/gang.hpp"
#include "sim/place/jobs/scheduler.hpp"
#include "sim/place/policy.hpp"
#include "sim/serve/policy.hpp"

namespace tessera {
namespace {

struct Item {
  std::string group, name, what;
};

std::vector<Item> platforms() {
  std::vector<Item> items;
  for (const std::string& name : known_gpus()) {
    const GpuSpec gpu = find_gpu(name);
    items.push_back({"gpus", name,
                     fmt::format("{}, {}, {}, {}", gpu.architecture, format(gpu.memory), format(gpu.memory_bandwidth),
                                 format(gpu.power_cap))});
  }
  for (const std::string& name : known_platforms()) {
    const ClusterSpec cluster = find_cluster(name);
    items.push_back({"nodes and clusters", name,
                     fmt::format("{} node{} of {} x {}", cluster.nodes, cluster.nodes == 1 ? "" : "s",
                                 cluster.node.gpus, cluster.gpu.name)});
  }
  for (const std::string& name : catalogue("profiles")) {
    const Profile profile = find_profile(name);
    items.push_back(
        {"profiles", name, fmt::format("{}{}{}", profile.gpu, profile.date.empty() ? "" : ", ", profile.date)});
  }
  return items;
}

std::vector<Item> models() {
  std::vector<Item> items;
  for (const std::string& name : builtin_models()) {
    const ModelConfig config = find_model(name);
    items.push_back({"models", name,
                     fmt::format("{}, {} layers, hidden {}, {} heads", config.architecture,
                                 config.layers + config.decoder_layers, config.hidden, config.heads)});
  }
  return items;
}

template <class Entries>
void add_entries(std::vector<Item>& items, std::string_view group, const Entries& entries) {
  for (const auto& entry : entries)
    items.push_back({std::string(group), std::string(entry.name), std::string(entry.what)});
}

std::vector<Item> policies() {
  std::vector<Item> items;
  add_entries(items, "placement", placement_policies());
  add_entries(items, "dispatch", dispatch_policies());
  add_entries(items, "serving", serving_policies());
  add_entries(items, "jobs.placement", gang_policies());
  add_entries(items, "jobs.queue", queue_rules());
  return items;
}

std::vector<Item> latency_model_items() {
  std::vector<Item> items;
  add_entries(items, "latency-models", latency_models());
  return items;
}

std::vector<Item> operators() {
  std::vector<Item> items;
  for (int i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    items.push_back(
        {"operators", std::string(to_string(op)), op <= Op::moe ? "" : "only inside models, not for `predict`"});
  }
  return items;
}

using Lister = std::vector<Item> (*)();
constexpr std::array<std::pair<std::string_view, Lister>, 5> kTopics{{
    {"platforms", platforms},
    {"models", models},
    {"policies", policies},
    {"operators", operators},
    {"latency-models", latency_model_items},
}};

class List final : public Command {
 public:
  explicit List(CLI::App& app) {
    app.add_option("TOPIC", topic_, "platforms, models, policies, operators or latency-models")->required();
    app.add_flag("--json", json_, "print as JSON");
  }

  int run() override {
    const std::vector<Item> items = find()();
    if (json_) {
      Json list = Json::array();
      for (const Item& item : items)
        list.push(Json(Json::Object{{"group", item.group}, {"name", item.name}, {"what", item.what}}));
      fmt::print("{}\n", list.dump());
      return 0;
    }
    std::string group;
    for (const Item& item : items) {
      if (item.group != group) fmt::print("{}{}:\n", group.empty() ? "" : "\n", item.group);
      group = item.group;
      if (item.what.empty())
        fmt::print("  {}\n", item.name);
      else
        fmt::print("  {:<24}{}\n", item.name, item.what);
    }
    return 0;
  }

 private:
  [[nodiscard]] Lister find() const {
    std::vector<std::string> names;
    for (const auto& [name, lister] : kTopics) {
      if (name == topic_) return lister;
      names.emplace_back(name);
    }
    throw InputError(Diagnostic{"", 0, 0,
                                fmt::format("list: unknown topic '{}'{}; there are {}", topic_,
                                            did_you_mean(topic_, names), fmt::join(names, ", "))});
  }

  std::string topic_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_list(CLI::App& app) {
  return std::make_unique<List>(app);
}

}  // namespace tessera
