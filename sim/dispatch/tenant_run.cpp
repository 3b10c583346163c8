#include "sim/dispatch/tenant_run.hpp"

#include <algorithm>
#include <limits>

#include "sim/base/error.hpp"

namespace tessera {

namespace {

constexpr Seconds kNever(std::numeric_limits<double>::infinity());

GpuCoreOptions core_options(const SharingOptions& options, bool coalesce) {
  return {coalesce, options.terms, options.time_slice, options.grain, options.record_usage};
}

}  // namespace

TenantRun::TenantRun(const SliceProgram& program, DispatchPolicy& policy, const SharingOptions& options, bool coalesce)
    : program_(&program),
      record_kernels_(options.record_kernels),
      core_(program.gpu, policy, core_options(options, coalesce)),
      states_(program.tenants.size()),
      ends_(program.tenants.size()) {
  for (const TenantProgram& tenant : program.tenants) {
    core_.add_stream({tenant.priority, tenant.process, tenant.range});
  }
}

void TenantRun::bind(GpuExecutor& executor, DispatchPolicy& policy) {
  executor_ = &executor;
  core_.bind(executor, *this, policy);
}

void TenantRun::hand_over(const GpuExecutor& from, const GpuCore::Adopt& adopt) {
  closing_ = true;
  std::ranges::fill(ends_, Seconds(0.0));
  core_.hand_over(from, adopt);
  if (opens_ >= Seconds(0.0)) executor_->wake(opens_);
}

/// Requests whose date has come join their tenant's queue; asks to be woken for the next one.
void TenantRun::arrive() {
  const Seconds now = executor_->now();
  Seconds next = kNever;
  for (std::uint32_t t = 0; t < states_.size(); ++t) {
    State& state = states_[t];
    const Arrivals& arrivals = program_->tenants[t].spec->arrivals;
    while (state.arrived < arrivals.dates.size() && due(arrivals.dates[state.arrived], now)) {
      ++state.arrived;
      begin_due_ = true;
    }
    if (state.arrived < arrivals.dates.size()) next = min(next, arrivals.dates[state.arrived]);
    if (!arrivals.dates.empty()) core_.view(t).waiting = state.arrived - state.begun;
  }
  next_arrival_ = next;
  if (next < kNever) executor_->wake(next);
}

void TenantRun::instant() {
  if (opens_ >= Seconds(0.0) && due(opens_, executor_->now())) {
    opens_ = Seconds(-1.0);
    ++segment_;
    open_segment();
  }
  if (closing_) return;
  if (due(next_arrival_, executor_->now())) arrive();
  if (!begin_due_) return;
  begin_due_ = false;
  starters_.clear();
  for (std::uint32_t t = 0; t < states_.size(); ++t) {
    State& state = states_[t];
    const Arrivals& arrivals = program_->tenants[t].spec->arrivals;
    if (state.busy) continue;
    if (!arrivals.dates.empty()) {
      if (state.begun == state.arrived) continue;
      state.arrival = arrivals.dates[state.begun];
    } else {
      if (static_cast<std::int64_t>(state.begun) >= arrivals.requests || executor_->now() >= arrivals.until) continue;
      state.arrival = executor_->now();
    }
    starters_.push_back(t);
  }
  begin_round(starters_);
}

/// Tenants that begin while a round is under way, or alone, wait for nobody.
void TenantRun::begin_round(const std::vector<std::uint32_t>& starters) {
  const bool round = round_.empty() && starters.size() > 1;
  for (const std::uint32_t t : starters) {
    const bool joins = round && !program_->tenants[t].pointers.empty();
    if (joins) round_.push_back(t);
    begin(t, joins);
  }
  if (!round || round_.empty()) return;
  segment_ = 0;
  open_segment();
}

void TenantRun::begin(std::uint32_t t, bool in_round) {
  const TenantProgram& tenant = program_->tenants[t];
  State& state = states_[t];
  TESSERA_ASSERT(!tenant.kernels.empty(), "a request has kernels");
  StreamView& view = core_.view(t);
  view.request = state.begun++;
  state.busy = view.busy = true;
  state.in_round = in_round;
  state.begin = executor_->now();
  view.arrival = state.arrival;
  view.deadline = tenant.spec->slo ? state.arrival + *tenant.spec->slo : kNever;
  view.next = 0;
  view.remaining = tenant.left[0];
  view.waiting = tenant.spec->arrivals.dates.empty() ? 0 : state.arrived - state.begun;
  if (!in_round) submit(t, 0, tenant.kernels.size());
}

void TenantRun::submit(std::uint32_t t, std::size_t from, std::size_t to) {
  const TenantProgram& tenant = program_->tenants[t];
  for (std::size_t k = from; k < to; ++k) {
    const Seconds launched = states_[t].begin + static_cast<double>(k + 1) * tenant.spec->launch;
    core_.submit(t, tenant.kernels[k], launched, static_cast<std::uint32_t>(k), k + 1 == to);
  }
}

std::size_t TenantRun::segment_end(std::uint32_t t, std::size_t segment) const {
  const TenantProgram& tenant = program_->tenants[t];
  return segment < tenant.pointers.size() ? tenant.pointers[segment] : tenant.kernels.size();
}

std::size_t TenantRun::columns() const {
  std::size_t columns = 0;
  for (const std::uint32_t t : round_) columns = std::max(columns, program_->tenants[t].pointers.size());
  return columns;
}

/// Submits the next segment in which anybody has something to do.
void TenantRun::open_segment() {
  for (; segment_ <= columns() && open_ == 0; ++segment_) {
    for (const std::uint32_t t : round_) {
      const std::size_t from = segment_ > 0 ? segment_end(t, segment_ - 1) : 0, to = segment_end(t, segment_);
      if (from == to) continue;
      ++open_;
      submit(t, from, to);
    }
    if (open_ > 0) return;
  }
}

void TenantRun::end_of_kernel_in_round(std::uint32_t t, std::uint32_t task) {
  if (task + 1 != segment_end(t, segment_) || --open_ > 0) return;
  const auto at_end = [this](std::uint32_t r) {
    return segment_end(r, segment_) == program_->tenants[r].kernels.size();
  };
  if (std::ranges::all_of(round_, at_end)) {
    round_.clear();
    return;
  }
  opens_ = executor_->now() + program_->pointer_cost;
  executor_->wake(opens_);
}

void TenantRun::kernel_ended(std::uint32_t t, std::uint32_t task, Seconds start, Seconds end) {
  const TenantProgram& tenant = program_->tenants[t];
  State& state = states_[t];
  StreamView& view = core_.view(t);
  view.next = task + 1;
  view.remaining = tenant.left[task + 1];
  if (task == 0) state.start = start;
  if (record_kernels_) kernels_.push_back({tenant.tenant, tenant.whole[task], start, end});
  if (task + 1 == tenant.kernels.size()) end_request(t, end);
  if (state.in_round) end_of_kernel_in_round(t, task);
}

void TenantRun::end_request(std::uint32_t t, Seconds end) {
  State& state = states_[t];
  state.busy = core_.view(t).busy = false;
  begin_due_ = true;
  ends_[t] = end;
  requests_.push_back({program_->tenants[t].tenant, state.arrival, state.start, end});
}

Timeline TenantRun::take() {
  Timeline timeline;
  for (std::uint32_t t = 0; t < states_.size(); ++t) {
    const State& state = states_[t];
    const Tenant& spec = *program_->tenants[t].spec;
    if (state.busy || state.begun < spec.arrivals.dates.size()) {
      throw RunError("tenant '" + spec.name + "' never ended its request: the dispatch policy sends nothing more");
    }
  }
  for (const RequestSpan& request : requests_) timeline.makespan = max(timeline.makespan, request.end);
  timeline.requests = std::move(requests_);
  timeline.kernels = std::move(kernels_);
  core_.report(timeline);
  return timeline;
}

}  // namespace tessera
