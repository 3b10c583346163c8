// Makers of the dispatch policies, one per file of this folder.
#pragma once

#include "sim/dispatch/policy.hpp"

namespace tessera {

std::unique_ptr<DispatchPolicy> make_abacus();
std::unique_ptr<DispatchPolicy> make_cpp();
std::unique_ptr<DispatchPolicy> make_gacer();
std::unique_ptr<DispatchPolicy> make_lookahead();
std::unique_ptr<DispatchPolicy> make_mig();
std::unique_ptr<DispatchPolicy> make_mps();
std::unique_ptr<DispatchPolicy> make_orion();
std::unique_ptr<DispatchPolicy> make_reef();
std::unique_ptr<DispatchPolicy> make_sequential();
std::unique_ptr<DispatchPolicy> make_streams();
std::unique_ptr<DispatchPolicy> make_streams_priority();
std::unique_ptr<DispatchPolicy> make_tally();
std::unique_ptr<DispatchPolicy> make_timeslice();

}  // namespace tessera
