#pragma once
#include <string>
#include <vector>

#include "hns/emulator/data_plane/linux/contributions.h"
#include "netlink/nft_table.h"

namespace porthole::hns::emulator {

/// A batch of lines for one program in one network namespace.
struct Step {
    std::string program;  ///< nft, ip, bridge, tc; "namespace" and "switch" are the executor's own
    std::string place;    ///< "" for the host's
    bool makes = true;    ///< of "namespace" and "switch": whether they are made or unmade
    std::string lines;
    std::vector<net::NftChange> elements;  ///< of "nft": the same as `lines`, where it can be done without the program; else empty
};

/// How to get from one state to the next, and back from anywhere between.
struct Plan {
    std::vector<Step> steps;
    /// In order, each as far as it goes: what is there already or removed already does not matter.
    std::vector<Step> rollback;
    std::string text() const;
};

/// Turns changes of the model into plans. It knows what the kernel should have, and counts what objects share.
///
/// A removed or changed port first loses its links, then the rules change at once, then new links appear: no packet ever meets half
/// of the rules. A plan that failed must be followed by revert(), for the next plan starts from what this one was to make.
class Planner {
public:
    explicit Planner(const LinuxOptions& options) : options_(options) {}

    Plan change(const Model& before, const Model& after, const Changes& changes);
    void revert();
    /// Forgets everything and starts from `model`.
    void reset(const Model& model);

    const KernelState& state() const { return state_; }
    /// All rules at once, whatever the kernel has now.
    std::string all_rules() const;

private:
    LinuxOptions options_;
    KernelState state_;
    bool had_anything_ = false;
    Contribution last_before_, last_after_;
};

/// Batches of lines that make all of `fixtures`, in order.
std::vector<Step> making_steps(std::vector<Fixture> fixtures);
/// Removes them again, in the opposite order.
std::vector<Step> unmaking_steps(std::vector<Fixture> fixtures);

}  // namespace porthole::hns::emulator
