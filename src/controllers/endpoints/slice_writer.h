#pragma once
#include <map>

#include "controllers/endpoints/slice_packing.h"
#include "controllers/framework/context.h"

namespace porthole::controllers::endpoints {

inline constexpr const char* ServiceNameLabel = "kubernetes.io/service-name";
inline constexpr const char* ManagedByLabel = "endpointslice.kubernetes.io/managed-by";

/// Reads and writes the slices that one controller manages, and knows whether the cache has seen its own writes.
class SliceWriter {
public:
    /// `changed` is called with the service of a slice that has changed.
    SliceWriter(Context& context, std::string manager, std::function<void(const client::NamespacedName&)> changed);

    client::Informer<EndpointSlice>& informer() { return slices_; }
    std::vector<EndpointSlice> slices_of(const client::NamespacedName& service) const;
    /// False while the cache has not seen one of our writes for the service: it is out of date then.
    bool up_to_date(const client::NamespacedName& service);
    /// Creations first, removals last.
    Task<> apply(client::NamespacedName service, SliceChanges changes);

private:
    struct Pending {
        std::map<std::string, std::int64_t> versions;  ///< by slice name
        MonotonicTime since{};
    };
    void seen(const EndpointSlice& slice, bool gone);
    void wrote(const client::NamespacedName& service, const EndpointSlice& slice);

    Context& context_;
    std::string manager_;
    client::Informer<EndpointSlice>& slices_;
    client::Informer<EndpointSlice>::Index by_service_;
    std::map<client::NamespacedName, Pending> pending_;
    std::function<void(const client::NamespacedName&)> changed_;
};

}  // namespace porthole::controllers::endpoints
