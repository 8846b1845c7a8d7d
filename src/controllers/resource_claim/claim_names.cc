#include "controllers/resource_claim/claim_names.h"

#include "objects/pods.h"
#include "objects/resource_claims.h"

namespace porthole::controllers {

using namespace api::core::v1;

std::vector<std::string> resource_claim_names(const Pod& pod) {
    std::vector<std::string> names;
    const auto by_entry = objects::resource_claim_names(pod);
    for (const PodResourceClaim& entry : pod.spec.resource_claims)
        if (const auto& name = by_entry.at(entry.name); name && !name->empty()) names.push_back(*name);
    if (std::string extended = objects::extended_claim_name(pod); !extended.empty()) names.push_back(std::move(extended));
    return names;
}

std::string generated_claim_base(const std::string& pod, const std::string& entry) {
    constexpr std::size_t Longest = 57;
    const std::string whole = pod + "-" + entry + "-";
    if (whole.size() <= Longest) return whole;
    return pod.substr(0, pod.size() * Longest / whole.size()) + "-" + entry.substr(0, entry.size() * Longest / whole.size());
}

bool is_pod_over(const Pod& pod) { return objects::is_terminal(pod) || (pod.metadata.deletion_timestamp && pod.spec.node_name.empty()); }

}  // namespace porthole::controllers
