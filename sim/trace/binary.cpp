#include "sim/trace/binary.hpp"

#include <cstring>
#include <type_traits>

#include "sim/base/error.hpp"

namespace tessera {

namespace {

class Writer {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void put(const std::string& text) {
    put(text.size());
    bytes_ += text;
  }
  void put(const Track& track) {
    put(track.name);
    put(track.gpu);
  }
  void put(const LinkUse& link) {
    put(link.name);
    put(link.bandwidth);
    put(link.carried);
    put(link.busy);
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put(values.size());
    for (const T& value : values) put(value);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  requires std::is_trivially_copyable_v<T>
  void get(T& value) {
    const std::string_view raw = take(sizeof value);
    std::memcpy(&value, raw.data(), raw.size());
  }
  void get(std::string& text) {
    std::size_t size = 0;
    get(size);
    text = take(size);
  }
  void get(Track& track) {
    get(track.name);
    get(track.gpu);
  }
  void get(LinkUse& link) {
    get(link.name);
    get(link.bandwidth);
    get(link.carried);
    get(link.busy);
  }
  template <class T>
  void get(std::vector<T>& values) {
    std::size_t size = 0;
    get(size);
    if (size > bytes_.size()) throw RunError("a trace is cut short");
    values.resize(size);
    for (T& value : values) get(value);
  }
  [[nodiscard]] bool done() const { return bytes_.empty(); }

 private:
  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) throw RunError("a trace is cut short");
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  std::string_view bytes_;
};

}  // namespace

std::string to_bytes(const Trace& trace) {
  Writer out;
  out.put(trace.makespan);
  out.put(trace.tracks);
  out.put(trace.spans);
  out.put(trace.links);
  out.put(trace.gpus);
  out.put(trace.folded);
  out.put(trace.events);
  return out.take();
}

Trace from_bytes(std::string_view bytes) {
  Trace trace;
  Reader in(bytes);
  in.get(trace.makespan);
  in.get(trace.tracks);
  in.get(trace.spans);
  in.get(trace.links);
  in.get(trace.gpus);
  in.get(trace.folded);
  in.get(trace.events);
  if (!in.done()) throw RunError("a trace is longer than it says");
  return trace;
}

}  // namespace tessera
