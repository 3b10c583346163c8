// A plain flash-attention kernel (Dao et al. 2022, arXiv:2205.14135) on tensor cores: 32 query rows a block, tiles of
// 32 keys, running maximum and sum, scores never in device memory. Small enough for every GPU from Turing on; no
// asynchronous copies, no split over keys, so slower than a tuned library: `runtime` tells its rows apart.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "calibration/microbench/cuda/gpu_trial.hpp"
#include "calibration/microbench/cuda/trials.hpp"
#include "calibration/microbench/cuda/values.hpp"
#include "calibration/microbench/reference.hpp"

namespace tessera::microbench {
namespace {

constexpr int kRows = 32, kKeys = 32, kSide = 16, kWarps = 4, kThreads = 32 * kWarps;

/// Heads that share keys and values are rows of one matrix: row r of a group is query r % q_len of its head r / q_len.
struct Sizes {
  int q_len, kv_len, heads, kv_heads;
};

template <class T, int D>
struct Tile {
  alignas(32) T queries[kRows][D];
  alignas(32) T keys[kKeys][D];
  alignas(32) T values[kKeys][D];
  alignas(32) float scores[kRows][kKeys];
  alignas(32) T weights[kRows][kKeys];
  alignas(32) float out[kRows][D];
  float top[kRows], sum[kRows];
};

template <class T, int D>
__device__ void load(T (*to)[D], const T* from, int rows, int limit) {
  constexpr int kPerRow = D * static_cast<int>(sizeof(T)) / 16;
  for (int i = threadIdx.x; i < rows * kPerRow; i += kThreads) {
    const int row = i / kPerRow, part = i % kPerRow;
    const uint4 zero = make_uint4(0, 0, 0, 0);
    reinterpret_cast<uint4*>(to[row])[part] =
        row < limit ? reinterpret_cast<const uint4*>(from + std::size_t{1} * row * D)[part] : zero;
  }
}

using namespace nvcuda;
template <class T>
using RowsOf = wmma::fragment<wmma::matrix_a, kSide, kSide, kSide, T, wmma::row_major>;
template <class T, class Order>
using ColumnsOf = wmma::fragment<wmma::matrix_b, kSide, kSide, kSide, T, Order>;
using Sums = wmma::fragment<wmma::accumulator, kSide, kSide, kSide, float>;

/// scores = queries keys': one of four 16 x 16 tiles per warp.
template <class T, int D>
__device__ void score(Tile<T, D>& tile, int warp) {
  const int row = warp / 2 * kSide, key = warp % 2 * kSide;
  Sums sums;
  wmma::fill_fragment(sums, 0.0f);
  for (int d = 0; d < D; d += kSide) {
    RowsOf<T> a;
    ColumnsOf<T, wmma::col_major> b;
    wmma::load_matrix_sync(a, &tile.queries[row][d], D);
    wmma::load_matrix_sync(b, &tile.keys[key][d], D);
    wmma::mma_sync(sums, a, b, sums);
  }
  wmma::store_matrix_sync(&tile.scores[row][key], sums, kKeys, wmma::mem_row_major);
}

/// The running softmax of one row per four threads, and what is in `out` rescaled to the new maximum.
template <class T, int D>
__device__ void weigh(Tile<T, D>& tile, int first_row, int first_key, const Sizes& s, float scale) {
  constexpr int kShare = kThreads / kRows;
  const int row = threadIdx.x / kShare, part = threadIdx.x % kShare;
  const int query = (first_row + row) % s.q_len;
  const int visible = ::min(s.kv_len, s.kv_len - s.q_len + query + 1) - first_key;
  const float before = tile.top[row];
  float top = before;
  for (int k = part; k < kKeys; k += kShare)
    if (k < visible) top = fmaxf(top, tile.scores[row][k] * scale);
  for (int offset = kShare / 2; offset > 0; offset /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, offset));
  float sum = 0;
  for (int k = part; k < kKeys; k += kShare) {
    const float weight = k < visible ? __expf(tile.scores[row][k] * scale - top) : 0.0f;
    tile.weights[row][k] = static_cast<T>(weight);
    sum += weight;
  }
  for (int offset = kShare / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  const float shrink = before == top ? 1.0f : __expf(before - top);  // also while nothing was visible: -inf is -inf
  for (int d = part; d < D; d += kShare) tile.out[row][d] *= shrink;
  __syncwarp();  // the row's other threads have read `before`
  if (part == 0) {
    tile.top[row] = top;
    tile.sum[row] = tile.sum[row] * shrink + sum;
  }
}

/// out += weights values.
template <class T, int D>
__device__ void accumulate(Tile<T, D>& tile, int warp) {
  for (int part = warp; part < kRows / kSide * (D / kSide); part += kWarps) {
    const int row = part / (D / kSide) * kSide, d = part % (D / kSide) * kSide;
    Sums sums;
    wmma::load_matrix_sync(sums, &tile.out[row][d], D, wmma::mem_row_major);
    for (int k = 0; k < kKeys; k += kSide) {
      RowsOf<T> a;
      ColumnsOf<T, wmma::row_major> b;
      wmma::load_matrix_sync(a, &tile.weights[row][k], kKeys);
      wmma::load_matrix_sync(b, &tile.values[k][d], D);
      wmma::mma_sync(sums, a, b, sums);
    }
    wmma::store_matrix_sync(&tile.out[row][d], sums, D, wmma::mem_row_major);
  }
}

/// Keys that some row of this block sees.
__device__ int last_key(const Sizes& s, int first_row, int rows) {
  const int last = ::min(first_row + kRows, rows) - 1;
  const bool one_head = first_row / s.q_len == last / s.q_len;
  return one_head ? ::min(s.kv_len, s.kv_len - s.q_len + last % s.q_len + 1) : s.kv_len;
}

template <class T, int D>
__device__ void attend(const T* queries, const T* keys, const T* values, T* out, const Sizes& s) {
  extern __shared__ __align__(128) unsigned char raw[];
  Tile<T, D>& tile = *reinterpret_cast<Tile<T, D>*>(raw);
  const int rows = s.heads / s.kv_heads * s.q_len, first_row = blockIdx.x * kRows;
  const int warp = threadIdx.x / 32;
  // blockIdx.y counts batch and key-value head: both tensors lie in that order.
  const std::size_t row_start = (std::size_t{blockIdx.y} * rows + first_row) * D;
  const std::size_t key_start = std::size_t{blockIdx.y} * s.kv_len * D;
  load<T, D>(tile.queries, queries + row_start, kRows, rows - first_row);
  for (int i = threadIdx.x; i < kRows * D; i += kThreads) tile.out[i / D][i % D] = 0;
  if (threadIdx.x < kRows) {
    tile.top[threadIdx.x] = -INFINITY;
    tile.sum[threadIdx.x] = 0;
  }
  const int end = last_key(s, first_row, rows);
  for (int key = 0; key < end; key += kKeys) {
    __syncthreads();
    load<T, D>(tile.keys, keys + key_start + std::size_t{1} * key * D, kKeys, s.kv_len - key);
    load<T, D>(tile.values, values + key_start + std::size_t{1} * key * D, kKeys, s.kv_len - key);
    __syncthreads();
    score(tile, warp);
    __syncthreads();
    weigh(tile, first_row, key, s, rsqrtf(static_cast<float>(D)));
    __syncthreads();
    accumulate(tile, warp);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kRows * D; i += kThreads) {
    const int row = i / D;
    if (first_row + row < rows) out[row_start + i] = static_cast<T>(tile.out[row][i % D] / tile.sum[row]);
  }
}

template <class T, int D>
__global__ void __launch_bounds__(kThreads) kernel(const T* queries, const T* keys, const T* values, T* out, Sizes s) {
#if __CUDA_ARCH__ < 800
  if constexpr (std::is_same_v<T, __nv_bfloat16>)
    __trap();  // no such tensor cores; the maker refuses it
  else
#endif
    attend<T, D>(queries, keys, values, out, s);
}

class AttentionTrial final : public GpuTrial {
 public:
  explicit AttentionTrial(const Case& c)
      : GpuTrial(c.timing, copies_for(c.timing, 2 * bytes_for(stored(c.dtype), keys_of(c)))),
        format_(stored(c.dtype)),
        batch_(static_cast<int>(c.dim("batch"))),
        d_(static_cast<int>(c.dim("head_dim"))),
        sizes_{static_cast<int>(c.dim("q_len")), static_cast<int>(c.dim("kv_len")), static_cast<int>(c.dim("heads")),
               static_cast<int>(c.dim("kv_heads"))},
        queries_(random_buffer(format_, count(sizes_.heads, sizes_.q_len), 40)),
        out_(bytes_for(format_, count(sizes_.heads, sizes_.q_len))) {
    if (d_ != 64 && d_ != 128) throw Unsupported("the flash kernel takes heads of 64 and 128");
    for (int i = 0; i < copies(); ++i) {
      keys_.push_back(random_buffer(format_, keys_of(c), 50u + static_cast<unsigned>(i)));
      values_.push_back(random_buffer(format_, keys_of(c), 60u + static_cast<unsigned>(i)));
    }
  }

  /// The weights are rounded to the operand's format before they are multiplied.
  [[nodiscard]] double tolerance() const override { return format_ == Stored::fp16 ? 5e-3 : 2e-2; }

 private:
  static std::size_t keys_of(const Case& c) {
    return static_cast<std::size_t>(c.dim("batch") * c.dim("kv_heads") * c.dim("kv_len") * c.dim("head_dim"));
  }
  [[nodiscard]] std::size_t count(int heads, int length) const {
    return std::size_t{1} * static_cast<unsigned>(batch_) * static_cast<unsigned>(heads) *
           static_cast<unsigned>(length) * static_cast<unsigned>(d_);
  }

  template <class T, int D>
  void launch_kernel(cudaStream_t stream, std::size_t copy) {
    static_assert(sizeof(Tile<T, D>) <= 48 * 1024, "what every GPU gives without asking");
    const int rows = sizes_.heads / sizes_.kv_heads * sizes_.q_len;
    const dim3 grid(static_cast<unsigned>((rows + kRows - 1) / kRows), static_cast<unsigned>(batch_ * sizes_.kv_heads));
    kernel<T, D><<<grid, kThreads, sizeof(Tile<T, D>), stream>>>(queries_.get<T>(), keys_[copy].get<T>(),
                                                                 values_[copy].get<T>(), out_.get<T>(), sizes_);
  }

  void launch(cudaStream_t stream, int copy) override {
    const auto i = static_cast<std::size_t>(copy);
    if (format_ == Stored::fp16)
      d_ == 64 ? launch_kernel<__half, 64>(stream, i) : launch_kernel<__half, 128>(stream, i);
    else
      d_ == 64 ? launch_kernel<__nv_bfloat16, 64>(stream, i) : launch_kernel<__nv_bfloat16, 128>(stream, i);
  }

  [[nodiscard]] double error_of(int batch, int head, int query) const {
    const auto d = static_cast<std::size_t>(d_);
    const auto row = static_cast<std::size_t>((batch * sizes_.heads + head) * sizes_.q_len + query);
    const int kv_head = head / (sizes_.heads / sizes_.kv_heads);
    const auto start =
        static_cast<std::size_t>(batch * sizes_.kv_heads + kv_head) * static_cast<std::size_t>(sizes_.kv_len) * d;
    const auto visible = static_cast<std::size_t>(sizes_.kv_len - sizes_.q_len + query + 1);
    const auto expected =
        attention(download(queries_, format_, row * d, d), download(keys_[0], format_, start, visible * d),
                  download(values_[0], format_, start, visible * d));
    return relative_error(download(out_, format_, row * d, d), expected);
  }

  /// Early rows attend to few keys, late ones to all; the first and last head and sequence.
  double compare() override {
    if (unwritten(out_)) return std::numeric_limits<double>::infinity();
    double worst = 0;
    for (const int query : {0, sizes_.q_len / 3, sizes_.q_len / 2 + 1, sizes_.q_len - 1}) {
      for (const int end : {0, 1}) {
        const double error = error_of(end * (batch_ - 1), end * (sizes_.heads - 1), std::min(query, sizes_.q_len - 1));
        if (std::isnan(error)) return error;
        worst = std::max(worst, error);
      }
    }
    return worst;
  }

  Stored format_;
  int batch_, d_;
  Sizes sizes_;
  Buffer queries_, out_;
  std::vector<Buffer> keys_, values_;
};

}  // namespace

std::unique_ptr<Trial> make_attention(const DeviceInfo& device, const Case& c) {
  if (c.dtype == Dtype::bf16 && device.capability < 80) throw Unsupported("no bf16 tensor cores before Ampere");
  return std::make_unique<AttentionTrial>(c);
}

}  // namespace tessera::microbench
