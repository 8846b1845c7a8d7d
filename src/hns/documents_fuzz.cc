#include <cstddef>
#include <cstdint>
#include <string_view>

#include "hns/hresult.h"
#include "hns/policies.h"

using namespace porthole::hns;

namespace {

template <class T>
void round_trip(std::string_view text) {
    const auto document = parse_document<T>(text);
    if (!document) return;
    const auto again = parse_document<T>(write_document(*document));
    if (!again || !(*again == *document)) __builtin_trap();
}

}  // namespace

/// Whatever is read can be written and read again to the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    round_trip<hcn::HostComputeNetwork>(text);
    round_trip<hcn::HostComputeEndpoint>(text);
    round_trip<hcn::HostComputeLoadBalancer>(text);
    round_trip<hcn::HostComputeRoute>(text);
    if (auto policy = parse_document<hcn::Policy>(text)) {
        for (const PolicyOwner owner : {PolicyOwner::Network, PolicyOwner::Subnet, PolicyOwner::Endpoint}) {
            const auto canonical = canonical_policy(owner, *policy);
            if (canonical && !same_policy(*canonical, *canonical_policy(owner, *canonical))) __builtin_trap();
        }
    }
    static_cast<void>(error_of_record(0, text));
    return 0;
}
