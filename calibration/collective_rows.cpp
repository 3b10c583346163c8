#include "calibration/collective_rows.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>

#include "sim/base/error.hpp"
#include "sim/config/csv.hpp"

namespace tessera {

namespace {

/// Rows of a file whose `column` is `value` were measured on `platform`.
struct Source {
  std::string_view set, file, column, value, platform;
  int nodes;
  double least_bytes;
};
constexpr double kAll = 1024, kLarge = 16.0 * 1048576, kMedium = 1048576;
constexpr std::array kSources{
    Source{"aic-nccl", "net_aic_nccl.csv.gz", "gpu", "a100_sxm", "dgx-a100-80gb", 1, kAll},
    Source{"aic-nccl", "net_aic_nccl.csv.gz", "gpu", "h100_sxm", "dgx-h100", 1, kAll},
    Source{"aic-nccl", "net_aic_nccl.csv.gz", "gpu", "b200_sxm", "dgx-b200", 1, kAll},
    Source{"vtrain", "net_vtrain_allreduce_a100_v100.csv.gz", "gpu", "A100", "dgx-a100-80gb", 1, kAll},
    Source{"vtrain", "net_vtrain_allreduce_a100_v100.csv.gz", "gpu", "V100", "dgx1-v100", 1, kAll},
    Source{"apex", "net_apex_h100.csv.gz", "gpu", "H100-SXM-80GB", "dgx-h100", 1, kLarge},
    Source{"apex", "net_apex_v100.csv.gz", "gpu", "V100-PCIE-16GB", "pcie-4x-v100", 1, kLarge},
    Source{"vidur", "net_vidur_a100_dgx.csv.gz", "machine", "a100_dgx", "dgx-a100-80gb", 1, kLarge},
    Source{"aws", "net_nccl_aws_issues.csv.gz", "machine", "2x p4de.24xlarge", "aws-p4de", 2, kMedium},
    Source{"aws", "net_nccl_aws_issues.csv.gz", "machine", "2x p5.48xlarge", "aws-p5", 2, kMedium},
};

constexpr std::array<std::pair<std::string_view, CollectiveKind>, 6> kKinds{
    {{"all_reduce", CollectiveKind::all_reduce},
     {"all_gather", CollectiveKind::all_gather},
     {"reduce_scatter", CollectiveKind::reduce_scatter},
     {"alltoall", CollectiveKind::all_to_all},
     {"send_recv", CollectiveKind::send_recv},
     {"sendrecv", CollectiveKind::send_recv}}};

std::optional<CollectiveKind> kind_named(std::string_view name) {
  const auto found = std::ranges::find(kKinds, name, &std::pair<std::string_view, CollectiveKind>::first);
  return found == kKinds.end() ? std::nullopt : std::optional(found->second);
}

/// What is thinned together: group, dtype and library.
using Series = std::tuple<std::uint32_t, CollectiveKind, std::string, std::string>;

class Loader {
 public:
  Loader(CollectiveDataset& data, std::filesystem::path folder, std::size_t limit)
      : data_(data), folder_(std::move(folder)), limit_(limit) {}

  void load(const Source& source) {
    const ClusterSpec cluster = find_cluster(source.platform, source.nodes);
    const Topology topology(cluster);
    data_.machines.push_back(
        {std::string(source.set), std::string(source.platform), cluster.gpu.name, machine_class(cluster)});
    std::map<Series, std::vector<CollectiveSample>> series;
    std::map<std::pair<int, CollectiveKind>, std::uint32_t> shapes;
    const CsvTable& table = read(source.file);
    const std::size_t key = table.need(source.column), collective = table.need("collective"),
                      gpus = table.need("n_gpus"), nodes = table.need("n_nodes"), dtype = table.need("dtype"),
                      library = table.need("library"), bytes = table.need("message_bytes"),
                      latency = table.need("latency_us");
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const auto kind = kind_named(table.cell(row, collective));
      const int n = static_cast<int>(table.integer(row, gpus).value_or(0));
      const double size = table.number(row, bytes).value_or(0), time = table.number(row, latency).value_or(0);
      if (table.cell(row, key) != source.value || !kind || n < 2 || n > cluster.gpus() || size < source.least_bytes ||
          !(time > 0) || table.integer(row, nodes).value_or(0) != source.nodes)
        continue;
      const auto [shape, fresh] = shapes.try_emplace({n, *kind}, static_cast<std::uint32_t>(data_.shapes.size()));
      if (fresh) data_.shapes.push_back(shape_of(first_gpus(n, source.nodes, cluster), *kind, cluster, topology));
      const std::string_view type = table.cell(row, dtype);
      series[{shape->second, *kind, std::string(type), std::string(table.cell(row, library))}].push_back(
          {.machine = static_cast<std::uint32_t>(data_.machines.size() - 1),
           .shape = shape->second,
           .kind = *kind,
           .bytes = Bytes(size),
           .summable = type != "int8",
           .time = Seconds(time * 1e-6)});
    }
    for (auto& [unused, samples] : series) keep(samples);
  }

 private:
  const CsvTable& read(std::string_view file) {
    const auto found = tables_.find(file);
    if (found != tables_.end()) return found->second;
    return tables_.emplace(std::string(file), CsvTable::read(folder_ / file)).first->second;
  }

  /// At equal distances in the order of sizes.
  void keep(std::vector<CollectiveSample>& samples) {
    std::ranges::stable_sort(samples, {}, [](const CollectiveSample& s) { return s.bytes.value(); });
    const std::size_t count = std::min(limit_, samples.size());
    for (std::size_t i = 0; i < count; ++i) data_.samples.push_back(samples[i * samples.size() / count]);
  }

  CollectiveDataset& data_;
  std::filesystem::path folder_;
  std::size_t limit_;
  std::map<std::string, CsvTable, std::less<>> tables_;
};

}  // namespace

std::vector<int> first_gpus(int n_gpus, int n_nodes, const ClusterSpec& cluster) {
  TESSERA_ASSERT(n_nodes > 0 && n_gpus % n_nodes == 0, "equally many GPUs on every node");
  std::vector<int> gpus;
  for (int node = 0; node < n_nodes; ++node) {
    for (int gpu = 0; gpu < n_gpus / n_nodes; ++gpu) gpus.push_back(node * cluster.node.gpus + gpu);
  }
  return gpus;
}

CollectiveDataset load_collectives(const std::filesystem::path& data, std::size_t limit) {
  CollectiveDataset all;
  Loader loader(all, data / "network", limit);
  for (const Source& source : kSources) loader.load(source);
  return all;
}

}  // namespace tessera
