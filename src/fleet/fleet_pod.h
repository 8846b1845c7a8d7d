#pragma once
#include <memory>
#include <string>

#include "client/informers/informer_core.h"

namespace porthole::fleet {

/// The data kept of a pod on a node: little, because there are many. Immutable.
struct FleetPod {
    client::NamespacedName key;
    std::string uid, node, address;
    std::string phase;  ///< "" before the first status
    bool deleting = false;
    bool completes = false;  ///< a Job's: it ends by itself
    bool unready = false;    ///< runs, but its condition Ready is False, because its node was considered lost
    /// The object's JSON without managedFields, as long as something is left to do; see needs_text of the two decoders.
    std::string text;

    bool is_over() const { return phase == "Succeeded" || phase == "Failed"; }
    /// Whether the timed model still has a step for it.
    bool has_step() const { return deleting || unready || !(is_over() || (phase == "Running" && !completes)); }
};

/// For an informer of pods whose objects are FleetPods. Keeps the text of pods that have_step(), and with `decode_whole` of every pod.
Result<client::InformerCodec::Decoded> decode_fleet_pod(std::string_view json);
Result<client::InformerCodec::Decoded> decode_whole_fleet_pod(std::string_view json);

}  // namespace porthole::fleet
