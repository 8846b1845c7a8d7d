#include <algorithm>

#include "api/core_v1.h"
#include "apiserver/admission/plugins.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;

constexpr std::int64_t Seconds = 300;

/// Whether some toleration, tolerating for ever or not, covers a taint of this key that evicts.
bool tolerates(const std::vector<Toleration>& tolerations, std::string_view key) {
    return std::ranges::any_of(tolerations, [&](const Toleration& one) {
        return (one.key == key || one.key.empty()) && (one.effect == "NoExecute" || one.effect.empty());
    });
}

class DefaultTolerationSeconds final : public AdmissionPlugin {
public:
    std::string_view name() const override { return "DefaultTolerationSeconds"; }
    bool handles(const AdmissionAttributes& attributes) const override { return attributes.is("", "pods"); }
    Task<> admit(AdmissionAttributes& attributes) override {
        if (!attributes.subresource.empty() || !attributes.object) co_return {};
        for (const char* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
            if (tolerates(attributes.object->view<Pod>().spec.tolerations, key)) continue;
            attributes.object->edit<Pod>().spec.tolerations.push_back(
                {.key = key, .operator_ = "Exists", .effect = "NoExecute", .toleration_seconds = Seconds});
        }
        co_return {};
    }
};

}  // namespace

AdmissionPluginPtr make_default_toleration_seconds(const AdmissionDependencies&) { return std::make_unique<DefaultTolerationSeconds>(); }

}  // namespace porthole::apiserver
