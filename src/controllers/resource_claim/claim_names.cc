#include "controllers/resource_claim/claim_names.h"

#include "objects/pods.h"
#include "objects/resource_claims.h"

namespace porthole::controllers {

using namespace api::core::v1;

std::vector<std::string> resource_claim_names(const Pod& pod) {
    std::vector<std::string> names;
    for (const PodResourceClaim& entry : pod.spec.resource_claims)
        if (auto name = objects::resource_claim_name(pod, entry); name && !name->empty()) names.push_back(*std::move(name));
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
