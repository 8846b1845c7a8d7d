#include "scheduler/plugins/plugins.h"

namespace porthole::scheduler {

namespace {

/// Nobody allocates devices here: a pod that claims some would run without them, so it waits.
class DynamicResources final : public Plugin {
public:
    std::string_view name() const override { return "DynamicResources"; }

    PreFilter pre_filter(const PodInfo& pod, const Cluster&) override {
        if (!pod.claims_devices) return PreFilter::skip();
        return PreFilter::reject("the pod has resource claims, which Porthole does not allocate");
    }
};

}  // namespace

std::unique_ptr<Plugin> make_dynamic_resources(const Handle&) { return std::make_unique<DynamicResources>(); }

}  // namespace porthole::scheduler
