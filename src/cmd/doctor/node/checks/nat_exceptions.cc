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
    const Item inside{"", "packets between pods keep their addresses"}, outside{"", "packets of pods to others get the node's address"};
    if (!evidence.windows) return findings.not_applicable(inside, "the rules of Linux nodes are kept by their agent");
    if (!evidence.nat_exceptions)
        return findings.fail(inside, "there is no CNI configuration at " + evidence.cni_configuration,
                             "flanneld writes it once it has made the pod network: look at its log");
    std::vector<std::string> missing;
    for (const std::string& ranges : {evidence.cluster_cidr, evidence.service_cidr})
        for (const std::string& range : split_list(ranges))
            if (!is_covered(range, *evidence.nat_exceptions)) missing.push_back(range);
    findings.none(
        inside, Verdict::Fail, std::move(missing), "these ranges are not among the exceptions from translation",
        "add them to Exceptions of OutBoundNAT in " + evidence.cni_configuration + ", and delete the pods, so that they are created again");
    if (!is_covered("0.0.0.0/0", *evidence.nat_exceptions)) return findings.pass(outside);
    findings.fail(outside, "all addresses are among the exceptions from translation, so that no host outside answers pods",
                  "take 0.0.0.0/0 out of Exceptions of OutBoundNAT in " + evidence.cni_configuration +
                      ", and delete the pods, so that they are created again");
}

}  // namespace porthole::cmd::doctor
