#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "schema/value.h"

namespace porthole::kubelet {

/// A device as its driver prepared it.
struct PreparedDevice {
    std::string pool, device;
    std::vector<std::string> requests;  ///< of the claim, for which it is; empty: for all
    std::vector<std::string> cdi_ids;   ///< the container runtime's names for it
    bool operator==(const PreparedDevice&) const = default;
};

/// Whether the device is for a container that names this request of the claim; "" for all.
bool is_for(const PreparedDevice& device, const std::string& request);

/// A claim that drivers were, or are about to be, asked to prepare, and the pods that use it.
struct PreparedClaim {
    std::string namespace_, name, uid;
    std::map<std::string, std::vector<PreparedDevice>> drivers;  ///< drivers of its devices, by name
    std::set<std::string> pods;                                  ///< by uid
    bool is_prepared = false;                                    ///< all drivers have done so since the kubelet started
    bool operator==(const PreparedClaim&) const = default;

    /// The CDI ids for a container that names the claim, and within it `request` unless that is empty.
    std::vector<std::string> cdi_ids(const std::string& request) const;
};

/// By uid.
using PreparedClaims = std::map<std::string, PreparedClaim>;
/// Those of the namespace, by name.
std::unordered_map<std::string_view, const PreparedClaim*> claims_of(const PreparedClaims& claims, const std::string& namespace_);

/// The text of the checkpoint.
std::string checkpoint_text(const PreparedClaims& claims);
/// Error: BadRequest if it is not a checkpoint.
Result<PreparedClaims> parse_checkpoint(std::string_view text);

}  // namespace porthole::kubelet
