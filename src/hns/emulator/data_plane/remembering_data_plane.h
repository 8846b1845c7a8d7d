#pragma once
#include <map>
#include <string>
#include <vector>

#include "hns/emulator/data_plane/data_plane.h"
#include "hns/hresult.h"

namespace porthole::hns::emulator {

/// A data plane that only records its calls, for tests of the emulator's users. It can be set to fail.
class RememberingDataPlane final : public DataPlane {
public:
    /// One adapter "Ethernet", 192.0.2.13/24.
    RememberingDataPlane();

    Task<> apply(const Model& before, const Model& after, const Changes& changes) override;
    Task<> restore(const Model& model) override;
    Task<Counters> counters(std::string endpoint_id) override;
    Task<std::vector<Adapter>> adapters() override { co_return adapters_; }
    std::string namespace_path(const std::string& namespace_id) const override { return "/run/netns/" + namespace_id; }
    Task<> lose_rules() override;

    /// The state that Linux would have.
    const Model& made() const { return made_; }
    std::size_t applied() const { return applied_; }
    std::size_t restored() const { return restored_; }
    bool rules_lost() const { return rules_lost_; }

    void fail_next_apply(Hresult code) { failure_ = code; }
    void set_counters(const std::string& endpoint_id, Counters counters) { counters_[endpoint_id] = counters; }

private:
    std::vector<Adapter> adapters_;
    std::map<std::string, Counters> counters_;
    Model made_;
    std::size_t applied_ = 0, restored_ = 0;
    bool rules_lost_ = false;
    Hresult failure_ = Hresult::Ok;
};

}  // namespace porthole::hns::emulator
