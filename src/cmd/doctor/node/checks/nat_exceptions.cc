#include <algorithm>

#include "base/strings.h"
#include "base/values/ip.h"
#include "cmd/doctor/node/node_check.h"

namespace porthole::cmd::doctor {
namespace {

/// Whether some exception covers all of `range`.
bool is_covered(const std::string& range, const std::vector<std::string>& exceptions) {
    const auto wanted = IpPrefix::parse(range);
    return wanted && std::ranges::any_of(exceptions, [&](const std::string& text) {
               const auto one = IpPrefix::parse(text);
               return one && one->length() <= wanted->length() && one->contains(wanted->base());
           });
}

}  // namespace

void check_node_nat_exceptions(const NodeEvidence& evidence, Findings& findings) {
    const Item inside{"", "packets between pods keep their addresses"},
        outside{"", "packets of pods to other hosts get the node's address"};
    if (!evidence.windows) return findings.not_applicable(inside, "the rules of Linux nodes are kept by their agent");
    if (!evidence.nat_exceptions)
        return findings.fail(inside, "no CNI configuration at " + evidence.cni_configuration,
                             "flanneld writes it once it has created the pod network: check its log");
    std::vector<std::string> missing;
    for (const std::string& ranges : {evidence.cluster_cidr, evidence.service_cidr})
        for (const std::string& range : split_list(ranges))
            if (!is_covered(range, *evidence.nat_exceptions)) missing.push_back(range);
    findings.none(
        inside, Verdict::Fail, std::move(missing), "these ranges are not excluded from address translation",
        "add them to Exceptions of OutBoundNAT in " + evidence.cni_configuration + ", and delete the pods, so that they are created again");
    if (!is_covered("0.0.0.0/0", *evidence.nat_exceptions)) return findings.pass(outside);
    findings.fail(outside, "all addresses are excluded from address translation, so hosts outside cannot answer pods",
                  "remove 0.0.0.0/0 from Exceptions of OutBoundNAT in " + evidence.cni_configuration +
                      ", and delete the pods, so that they are created again");
}

}  // namespace porthole::cmd::doctor
