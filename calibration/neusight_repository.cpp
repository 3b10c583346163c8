#include "calibration/neusight_repository.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <regex>
#include <utility>
#include <vector>

#include "calibration/cells.hpp"
#include "sim/base/error.hpp"

namespace tessera {

namespace {

namespace fs = std::filesystem;

/// A table, where a checkout keeps it: train/collect/OPERATOR/VERSION/DEVICE.csv, and test/FILE.
struct Source {
  std::string_view name, test_file;  // no file: no test set
  std::vector<std::string_view> operators;
  bool matrix = false;
  std::int64_t trained_rows = 0;  // vectors: NeuSight trains on tensors with more rows than this, of rows over 512
};

const std::vector<Source>& sources() {
  static const std::vector<Source> kSources{
      {"bmm", "bmm.csv", {"bmm"}, true},
      {"linear", "linear.csv", {"linear"}, true},
      {"elementwise",
       "elem.csv",
       {"add", "addu", "div", "divu", "gelu", "mul", "mulu", "pow", "powu", "relu", "tanh"},
       false,
       8192},
      {"softmax", "softmax.csv", {"softmax"}, false, 4096},
      {"layernorm", "ln.csv", {"ln"}, false, 4096},
      {"conv", "", {"conv"}, false},
  };
  return kSources;
}
const Source& source_of(std::string_view name) {
  const auto source = std::ranges::find(sources(), name, &Source::name);
  TESSERA_ASSERT(source != sources().end(), "one of the artifact's tables");
  return *source;
}
constexpr std::int64_t kTrainedWidth = 512;
/// Its convolutions lie among the training rows, but no GPU of that memory size was trained on.
constexpr std::string_view kTestGpu = "A100-PCIE-80GB";

struct Tiles {
  std::int64_t m = 0, n = 0;
};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// From the kernel's name; its first number lies along n, unless only the other reading divides the launch grid.
Tiles tiles_of(const std::string& kernel, bool amd, std::array<std::int64_t, 3> shape, std::int64_t blocks) {
  static const std::regex kTile("(?:_MT|sgemm_|tilesize)([0-9]+)x([0-9]+)", std::regex::icase);
  std::smatch found;
  if (!std::regex_search(kernel, found, kTile)) return {};
  const std::int64_t x = std::stoll(found[1]), y = std::stoll(found[2]);
  const auto [b, m, n] = shape;
  const auto divides = [&](std::int64_t tm, std::int64_t tn) {
    return blocks % (b * ceil_div(m, tm) * ceil_div(n, tn)) == 0;
  };
  if (!amd && !divides(y, x) && divides(x, y)) return {x, y};
  return {y, x};
}

/// One of the repository's files, by its own column names.
class Measured {
 public:
  explicit Measured(const fs::path& file) : table_(CsvTable::read(file)) {}

  [[nodiscard]] std::size_t rows() const { return table_.rows(); }
  [[nodiscard]] std::string text(std::size_t row, std::string_view column) const {
    return std::string(table_.cell(row, table_.need(column)));
  }
  [[nodiscard]] std::int64_t count(std::size_t row, std::string_view column) const {
    return dimension_at(table_, row, table_.need(column));
  }
  [[nodiscard]] std::int64_t count_or_zero(std::size_t row, std::string_view column) const {
    return table_.integer(row, table_.need(column)).value_or(0);
  }
  [[nodiscard]] std::string milliseconds(std::size_t row) const {
    const std::size_t column = table_.need("Latency");
    (void)milliseconds_at(table_, row, column);
    return fmt::format("{:.6g}", table_.number(row, column).value_or(0));
  }

 private:
  CsvTable table_;
};

std::string header_of(const Source& source) {
  if (source.matrix) return "gpu,dtype,op,b,m,k,n,tile_m,tile_n,latency_ms,split\n";
  if (source.name == "conv") return "gpu,dtype,op,b,c_in,c_out,ksize,hw,stride,pad,latency_ms,split\n";
  return "gpu,dtype,op,rows,h,latency_ms,grid_x,grid_y,grid_z,split,neusight_train\n";
}

/// NeuSight's N is the reduction, its K the columns of the result.
std::string matrix_line(const Measured& file, std::size_t row, const std::string& gpu, std::string_view split) {
  const std::int64_t b = file.count(row, "B"), m = file.count(row, "M"), k = file.count(row, "N"),
                     n = file.count(row, "K");
  const std::int64_t blocks = file.count(row, "Grid x") * file.count(row, "Grid y") * file.count(row, "Grid z");
  const Tiles tiles = tiles_of(file.text(row, "Kernel Name"), gpu.starts_with("MI"), {b, m, n}, blocks);
  return fmt::format("{},fp32,{},{},{},{},{},{},{},{},{}\n", gpu, file.text(row, "OPName"), b, m, k, n, tiles.m,
                     tiles.n, file.milliseconds(row), split);
}

std::string conv_line(const Measured& file, std::size_t row, const std::string& gpu, std::string_view split) {
  return fmt::format("{},fp32,conv,{},{},{},{},{},{},{},{},{}\n", gpu, file.count(row, "B"),
                     file.count(row, "Input_Channel"), file.count(row, "Output_Channel"),
                     file.count(row, "Kernel_Szie"),  // spelled so
                     file.count(row, "Input_Size"), file.count(row, "Stride"), file.count_or_zero(row, "Padding"),
                     file.milliseconds(row), gpu == kTestGpu ? "test" : split);
}

std::string vector_line(const Source& source, const Measured& file, std::size_t row, const std::string& gpu,
                        std::string_view split) {
  const std::int64_t rows = file.count(row, "B"), h = file.count(row, "H");
  const bool trained = split == "train" && rows > source.trained_rows && h > kTrainedWidth;
  return fmt::format("{},fp32,{},{},{},{},{},{},{},{},{}\n", gpu, file.text(row, "OPName"), rows, h,
                     file.milliseconds(row), file.count(row, "Grid x"), file.count(row, "Grid y"),
                     file.count(row, "Grid z"), split, trained ? 1 : 0);
}

void append(const Source& source, const fs::path& path, std::string_view split, std::string& text) {
  const Measured file(path);
  for (std::size_t row = 0; row < file.rows(); ++row) {
    const std::string gpu = neusight_gpu(file.text(row, "Device"));
    text += source.matrix           ? matrix_line(file, row, gpu, split)
            : source.name == "conv" ? conv_line(file, row, gpu, split)
                                    : vector_line(source, file, row, gpu, split);
  }
}

/// CSV files of a folder and the folders in it, by name.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  if (!fs::is_directory(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ".csv") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

CsvTable assemble(const Source& source, const fs::path& root) {
  const fs::path dataset = root / "data" / "dataset";
  std::string text = header_of(source);
  const std::size_t empty = text.size();
  for (const std::string_view op : source.operators) {
    for (const fs::path& file : files_below(dataset / "train" / "collect" / op)) append(source, file, "train", text);
  }
  const fs::path test = dataset / "test" / source.test_file;
  if (!source.test_file.empty() && fs::is_regular_file(test)) append(source, test, "test", text);
  if (text.size() == empty) {
    throw InputError(Diagnostic{.file = dataset.string(),
                                .message = fmt::format("holds no measurements of {}: expected train/collect/{}/*/*.csv",
                                                       source.name, source.operators.front())});
  }
  return CsvTable::parse(std::move(text), dataset.string() + " (" + std::string(source.name) + ")");
}

}  // namespace

std::optional<fs::path> neusight_checkout(const fs::path& folder) {
  for (const fs::path& at : {folder, folder / "neusight", folder / "NeuSight"}) {
    for (const fs::path& root : {at / "scripts" / "asplos", at}) {
      if (fs::is_directory(root / "data" / "dataset")) return root;
    }
  }
  return std::nullopt;
}

std::string neusight_gpu(std::string_view device) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kRenamed{
      {{"A100 80GB PCIe", "A100-PCIE-80GB"}, {"H100 80GB HBM3", "H100-SXM-80GB"}}};
  std::string name(device);
  std::ranges::replace(name, '_', ' ');
  for (const std::string_view maker : {"NVIDIA ", "Tesla ", "AMD Instinct "}) {
    if (name.starts_with(maker)) name.erase(0, maker.size());
  }
  for (const auto& [theirs, ours] : kRenamed) {
    if (name == theirs) return std::string(ours);
  }
  return name;
}

std::string_view neusight_test_file(std::string_view name) {
  return source_of(name).test_file;
}

CsvTable read_neusight(const fs::path& folder, std::string_view name) {
  const std::string file = std::string(name) + ".csv.gz";
  for (const fs::path& path : {folder / "neusight" / file, folder / file}) {
    if (fs::is_regular_file(path)) return CsvTable::read(path);
  }
  if (const auto root = neusight_checkout(folder)) return assemble(source_of(name), *root);
  return CsvTable::read(folder / "neusight" / file);  // says what is missing
}

}  // namespace tessera
