#include "hns/emulator/data_plane/remembering_data_plane.h"

#include <utility>

namespace porthole::hns::emulator {

RememberingDataPlane::RememberingDataPlane() { adapters_.push_back({"Ethernet", "192.0.2.13", 24, "02-00-C0-00-02-0D"}); }

Task<> RememberingDataPlane::apply(const Model& before, const Model& after, const Changes& changes) {
    static_cast<void>(changes);
    // The emulator must not have lost track of what was made.
    CHECK(before.networks == made_.networks && before.endpoints == made_.endpoints && before.namespaces == made_.namespaces &&
          before.load_balancers == made_.load_balancers && before.routes == made_.routes);
    if (failure_ != Hresult::Ok) co_return hresult_error(std::exchange(failure_, Hresult::Ok));
    made_ = after;
    ++applied_;
    co_return {};
}

Task<> RememberingDataPlane::restore(const Model& model) {
    made_ = model;
    rules_lost_ = false;
    ++restored_;
    co_return {};
}

Task<Counters> RememberingDataPlane::counters(std::string endpoint_id) { co_return counters_[endpoint_id]; }

Task<> RememberingDataPlane::lose_rules() {
    rules_lost_ = true;
    co_return {};
}

}  // namespace porthole::hns::emulator
