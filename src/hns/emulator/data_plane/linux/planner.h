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
    bool makes = true;    ///< of "namespace" and "switch": create or remove
    std::string lines;
    std::vector<net::NftChange> elements;  ///< of "nft": the same as `lines`, where it can be done without the program; else empty
};

/// How to get from one state to the next, and back from anywhere between.
struct Plan {
    std::vector<Step> steps;
    /// To be run in order, ignoring failures: what already exists, or is already removed, does not matter.
    std::vector<Step> rollback;
    std::string text() const;
};

/// Computes plans from changes of the model. It knows the wanted kernel state, and counts references to shared things.
///
/// A removed or changed port first loses its links, then all rules change at once, then new links are created: no packet passes half of the
/// rules. After a plan has failed, revert() must be called, because the next plan starts from the state after this one.
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
